// Takes out of a record what names a person or a host. Pure: what is to be taken out is an argument.

export interface Private {
  /** Home folders, working folders: longest first is not needed. */
  folders: readonly { path: string; shown: string }[];
  hostNames: readonly string[];
}

/** A path from the root: its folders say where someone keeps things, its last name what was used. Paths that every machine
 * has and those of HTTP interfaces stay. */
const ABSOLUTE_FOLDERS =
  /(?<![\w.:/~}-])\/(?!(?:v\d|proc|sys|dev|usr|etc|bin|lib|debug)\/)(?:[\w.+@%-]+\/)+(?=[\w.+@%-])/g;

export interface Redacted<T> {
  value: T;
  /** What was removed, for the record. */
  removed: { what: string; why: string }[];
}

/** A copy of plain data in which no string holds a private folder or host name. Local addresses stay. */
export function redact<T>(value: T, secrets: Private): Redacted<T> {
  const folders = secrets.folders
    .filter(({ path }) => path.length > 1)
    .toSorted((a, b) => b.path.length - a.path.length);
  const hosts = secrets.hostNames.filter((name) => name !== '' && name !== 'localhost');
  let folderSeen = false;
  let hostSeen = false;
  const clean = (text: string): string => {
    let cleaned = text;
    for (const { path, shown } of folders) {
      const pattern = new RegExp(`${escaped(path)}(?=/|$|[\\s"',:;)])`, 'g');
      const next = cleaned.replaceAll(pattern, shown);
      folderSeen ||= next !== cleaned;
      cleaned = next;
    }
    const named = cleaned.replaceAll(ABSOLUTE_FOLDERS, 'FOLDER/');
    folderSeen ||= named !== cleaned;
    cleaned = named;
    for (const host of hosts) {
      const next = cleaned.replaceAll(new RegExp(`\\b${escaped(host)}\\b`, 'g'), 'HOST');
      hostSeen ||= next !== cleaned;
      cleaned = next;
    }
    return cleaned;
  };
  const copy = walk(value, clean) as T;
  const removed: Redacted<T>['removed'] = [];
  if (folderSeen) removed.push({ what: 'folders', why: 'paths name the user and the machine' });
  if (hostSeen) removed.push({ what: 'host name', why: 'it names the machine' });
  return { value: copy, removed };
}

function walk(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((item) => walk(item, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, walk(field, clean)]));
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
