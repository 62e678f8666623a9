// The rules of the house as a test: who may import whom, how large files are, which words are not used. Every rule is
// proven by a planted violation, so a rule that stopped working fails too.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface SourceFile {
  path: string;
  text: string;
}

/** One sentence a violation: file, line, what, and what to do. */
type Rule = (file: SourceFile) => string[];

const TYPESCRIPT = /\.(?:ts|mjs)$/;
const CODE = /\.(?:ts|mjs|cc|h)$/;
const isTest = (path: string) => /\.test\.ts$/.test(path) || path.includes('/testing/');

/** What the sources of a folder may import: prefixes of paths, and of packages. Type imports count as well. */
interface Wall {
  from: RegExp;
  may: RegExp;
  why: string;
}

const NO_IO = 'it does no I/O and reads no clock, so that it can be checked alone';
const WALLS: Wall[] = [
  { from: /^harness\/stats\//, may: /^(?:harness\/stats\/|simple-statistics$)/, why: NO_IO },
  {
    from: /^harness\/metrics\//,
    may: /^(?:harness\/(?:metrics|stats)\/|harness\/client\/timeline|harness\/load\/(?:drive|in-flight)|simple-statistics$)/,
    why: NO_IO,
  },
  {
    from: /^harness\/parity\//,
    may: /^(?:harness\/(?:parity|stats|metrics)\/|harness\/errors|zod$|node:crypto$)/,
    why: NO_IO,
  },
  { from: /^server\/scheduler\//, may: /^(?:server\/scheduler\/|node:crypto$)/, why: NO_IO },
  {
    from: /^harness\/load\//,
    may: /^(?:harness\/(?:load|client|scenario|stats)\/|harness\/errors|node:|undici$|zod$)/,
    why: 'the measured loop neither prints nor writes',
  },
  {
    from: /^harness\/report\//,
    may: /^(?!harness\/(?:client|load|arms|emitter|sweep|commands)\/)/,
    why: 'showing never measures',
  },
  {
    from: /^harness\/record\//,
    may: /^(?!harness\/(?:load|report|arms|commands|sweep)\/)/,
    why: 'what is kept does not depend on how it was measured or is shown',
  },
  {
    from: /^harness\/attribution\//,
    may: /^(?!harness\/(?:report|commands)\/)/,
    why: 'it explains and shows nothing',
  },
  {
    from: /^harness\//,
    may: /^(?!server\/(?!protocol\/)|native\/)/,
    why: 'it measures strangers and our own server alike, so it knows only server/protocol',
  },
  {
    from: /^server\/http\//,
    may: /^(?!server\/(?:engine|scheduler|model)\/|native\/|harness\/)/,
    why: 'the engine is seen through one interface only',
  },
  {
    // Why a sequence ended, and what one is, are words of the engine's interface.
    from: /^server\/frontend\//,
    may: /^(?!server\/(?:engine|http|scheduler\/(?!(?:sequence|stop-rules)\.ts$))|native\/|harness\/)/,
    why: 'the engine is seen through one interface only',
  },
  {
    from: /^server\/(?!engine\/)/,
    may: /^(?!native\/|harness\/)/,
    why: 'only server/engine loads the native side',
  },
  {
    from: /^server\/engine\//,
    may: /^(?!server\/http\/|harness\/)/,
    why: 'it never waits for HTTP',
  },
  { from: /^native\//, may: /^(?:native\/|node:)/, why: 'it stands alone' },
];

const walls: Rule = ({ path, text }) => {
  if (!TYPESCRIPT.test(path) || isTest(path)) return [];
  const found: string[] = [];
  for (const { target, line, typeOnly } of importsOf(path, text)) {
    const wall = WALLS.find(({ from, may }) => from.test(path) && !may.test(target));
    // The types of the native border describe models to it; they load nothing.
    const described = typeOnly && target === 'native/index.ts' && /^server\/model\//.test(path);
    if (wall === undefined || described) continue;
    found.push(`${path}:${line} imports ${target}, but ${wall.why}.`);
  }
  return found;
};

function importsOf(path: string, text: string) {
  const pattern =
    /^\s*(?:import|export)\s+(type\s+)?[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/gm;
  return [...text.matchAll(pattern)].map((match) => {
    const named = match[2] ?? match[3] ?? '';
    const target = named.startsWith('.') ? normalize(join(dirname(path), named)) : named;
    return { target, line: lineAt(text, match.index), typeOnly: match[1] !== undefined };
  });
}

/** Native code: the model sees one header of the kernels, and only the addon knows Node-API. */
const nativeIncludes: Rule = ({ path, text }) => {
  if (!/^native\/.*\.(?:cc|h)$/.test(path)) return [];
  return [...text.matchAll(/^#include\s+["<]([^">]+)[">]/gm)].flatMap((match) => {
    const header = match[1] ?? '';
    const line = lineAt(text, match.index);
    if (/napi|node_api/.test(header) && !path.startsWith('native/addon/')) {
      return [`${path}:${line} includes ${header}; only native/addon knows Node-API.`];
    }
    const kernel = /kernels\/(?!kernels\.h$)/.test(header);
    if (path.startsWith('native/model/') && kernel) {
      return [`${path}:${line} includes ${header}; the model sees kernels/kernels.h only.`];
    }
    if (path.startsWith('native/kernels/') && /(?:^|\/)model\//.test(header)) {
      return [`${path}:${line} includes ${header}; kernels know nothing of the model.`];
    }
    return [];
  });
};

const kernelsArePlain: Rule = ({ path, text }) => {
  if (!/^native\/kernels\/.*\.(?:cc|h)$/.test(path)) return [];
  return findAll(
    withoutComments(text),
    /\b(?:throw\b|new\s+\w|malloc\(|std::vector<|std::string\b)/g,
  ).map(({ line, what }) => `${path}:${line} has "${what}"; kernels neither allocate nor throw.`);
};

const FILE_LINES = 300;
const TEST_LINES = 500;
/** The formatter breaks code at 100; comments may go a little further, and literals cannot be broken. */
const LINE_WIDTH = 130;
const UNBREAKABLE = /'[^']{60,}'|`[^`]{60,}|"[^"]{60,}"|\/[^/]{60,}\//;

const sizes: Rule = ({ path, text }) => {
  if (!CODE.test(path)) return [];
  const lines = text.trimEnd().split('\n');
  const limit = isTest(path) || path.startsWith('native/test/') ? TEST_LINES : FILE_LINES;
  const found = lines.flatMap((line, index) =>
    line.length > LINE_WIDTH && !UNBREAKABLE.test(line)
      ? [`${path}:${index + 1} is ${line.length} wide; break it at 100.`]
      : [],
  );
  if (lines.length > limit)
    found.push(`${path} has ${lines.length} lines; split it below ${limit}.`);
  return found;
};

const names: Rule = ({ path }) => {
  const found: string[] = [];
  const parts = path.split('/');
  const vague = parts.find((part) => /^(?:utils?|common|helpers?|misc|base)(?:\.|$)/.test(part));
  if (vague !== undefined) found.push(`${path}: "${vague}" says nothing; name what it is for.`);
  const file = basename(path);
  if (/\.ts$/.test(path) && !/^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.ts$/.test(file)) {
    found.push(`${path}: TypeScript files are kebab-case.`);
  }
  if (/\.(?:cc|h)$/.test(path) && !/^[a-z0-9_]+\.(?:cc|h)$/.test(file)) {
    found.push(`${path}: C++ files are snake_case.`);
  }
  if (file === 'index.ts' && path !== 'native/index.ts') {
    found.push(`${path}: no barrels; import from the file itself.`);
  }
  return found;
};

interface Ban {
  pattern: RegExp;
  where: (path: string) => boolean;
  instead: string;
}

const shows = (path: string) =>
  /^(?:harness\/(?:cli\.ts|commands\/|report\/)|server\/(?:main|model-command)\.ts|native\/.*\.mjs|\.ci\/)/.test(
    path,
  );
const measures = (path: string) =>
  /^(?:harness\/(?:client|load|metrics|stats|parity|attribution|emitter|arms)\/|server\/(?:engine|scheduler|http|frontend)\/)/.test(
    path,
  );

const BANS: Ban[] = [
  {
    pattern: /console\.\w+\(/g,
    where: (path) => !shows(path) && !isTest(path),
    instead: 'return what is to be shown',
  },
  {
    pattern: /\bDate\.now\(\)|\bnew Date\(\)/g,
    where: (path) => measures(path) && !isTest(path),
    instead: 'use the monotonic clock',
  },
  {
    pattern: /\bprocess\.exit\(/g,
    where: (path) =>
      !/^(?:harness\/(?:cli|emitter\/main)\.ts|server\/main\.ts|.*\.mjs)$/.test(path),
    instead: 'return an exit code or throw',
  },
  {
    pattern: /\bprocess\.env\b/g,
    where: (path) =>
      /^(?:harness|server)\//.test(path) &&
      !/^(?:harness\/cli|server\/(?:main|config|model\/cache-folder))\.ts$/.test(path) &&
      !isTest(path) &&
      !path.startsWith('harness/e2e/'),
    instead: 'let cli.ts or main.ts read it and pass it on',
  },
  {
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/g,
    where: () => true,
    instead: 'finish it, or open an issue',
  },
  {
    pattern: /(?:\bas|:)\s+any\b|<any>/g,
    where: (path) => TYPESCRIPT.test(path),
    instead: 'use unknown and check',
  },
  {
    pattern: /\bexport default\b/g,
    where: (path) => TYPESCRIPT.test(path),
    instead: 'use a named export',
  },
  {
    pattern: /\b(?:test|it|describe)\.(?:skip|only|todo)\b/g,
    where: isTest,
    instead: 'make it run or remove it',
  },
];

const bans: Rule = ({ path, text }) => {
  if (!CODE.test(path) || path === 'harness/tidy.test.ts') return [];
  const plain = withoutComments(text);
  return BANS.filter(({ where }) => where(path)).flatMap(({ pattern, instead }) => {
    const source = String(pattern.source).includes('TODO') ? text : plain;
    return findAll(source, pattern).map(
      ({ line, what }) => `${path}:${line} has "${what}"; ${instead}.`,
    );
  });
};

/** Files with a decision in them say at the top what they are for. */
const headers: Rule = ({ path, text }) => {
  // What a .cc file is for stands in its header.
  if (!/\.(?:ts|h)$/.test(path) || isTest(path)) return [];
  if (text.split('\n').length <= 60) return [];
  const start = text.replace(/^#![^\n]*\n/, '').replace(/^#pragma once\s*/, '');
  return /^\s*\/[/*]/.test(start)
    ? []
    : [`${path}: begin with a comment that says what it is for.`];
};

const RULES: Record<string, Rule> = {
  walls,
  nativeIncludes,
  kernelsArePlain,
  sizes,
  names,
  bans,
  headers,
};

function withoutComments(text: string): string {
  // Line breaks stay, so that lines can still be counted.
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*/g, (comment) =>
    comment.replaceAll(/[^\n]/g, ' '),
  );
}

function findAll(text: string, pattern: RegExp) {
  return [...text.matchAll(pattern)].map((match) => ({
    line: lineAt(text, match.index),
    what: match[0].trim(),
  }));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function sourceFiles(): SourceFile[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'harness', 'server', 'native', '.ci'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  const paths = listed.split('\n').filter((path) => CODE.test(path));
  return paths.flatMap((path) => {
    try {
      return [{ path, text: readFileSync(join(ROOT, path), 'utf8') }];
    } catch {
      // Deleted, but not yet in a commit.
      return [];
    }
  });
}

for (const [name, rule] of Object.entries(RULES)) {
  test(`the sources keep the rule "${name}"`, () => {
    const files = sourceFiles();
    assert.ok(files.length > 50, 'the sources were found');
    assert.deepEqual(files.flatMap(rule), []);
  });
}

const PLANTED: { rule: keyof typeof RULES; path: string; text: string; says: RegExp }[] = [
  {
    rule: 'walls',
    path: 'harness/stats/a.ts',
    text: "import { x } from 'node:fs';",
    says: /no I\/O/,
  },
  {
    rule: 'walls',
    path: 'harness/load/a.ts',
    text: "import { x } from '../report/b.ts';",
    says: /neither prints/,
  },
  {
    rule: 'walls',
    path: 'harness/load/a.ts',
    text: "import {\n  x,\n} from '../record/b.ts';",
    says: /a\.ts:1 imports harness\/record\/b\.ts/,
  },
  {
    rule: 'walls',
    path: 'harness/report/a.ts',
    text: "import { x } from '../load/b.ts';",
    says: /never measures/,
  },
  {
    rule: 'walls',
    path: 'harness/commands/a.ts',
    text: "import { x } from '../../server/config.ts';",
    says: /only server\/protocol/,
  },
  {
    rule: 'walls',
    path: 'harness/arms/a.ts',
    text: "const x = await import('../../native/index.ts');",
    says: /only server\/protocol/,
  },
  {
    rule: 'walls',
    path: 'server/http/a.ts',
    text: "import { x } from '../scheduler/b.ts';",
    says: /one interface/,
  },
  {
    rule: 'walls',
    path: 'server/model/a.ts',
    text: "export { x } from '../../native/index.ts';",
    says: /only server\/engine/,
  },
  {
    rule: 'walls',
    path: 'server/scheduler/a.ts',
    text: "import { x } from 'node:fs';",
    says: /no I\/O/,
  },
  {
    rule: 'nativeIncludes',
    path: 'native/model/a.cc',
    text: '#include "napi.h"',
    says: /only native\/addon/,
  },
  {
    rule: 'nativeIncludes',
    path: 'native/model/a.cc',
    text: '#include "../kernels/avx2/b.h"',
    says: /kernels\.h only/,
  },
  {
    rule: 'kernelsArePlain',
    path: 'native/kernels/avx2/a.cc',
    text: 'void F() { throw 1; }',
    says: /neither allocate/,
  },
  { rule: 'sizes', path: 'server/a.ts', text: 'let a;\n'.repeat(301), says: /has 301 lines/ },
  { rule: 'sizes', path: 'server/a.ts', text: 'x'.repeat(131), says: /131 wide/ },
  { rule: 'names', path: 'server/utils/a.ts', text: '', says: /says nothing/ },
  { rule: 'names', path: 'server/someThing.ts', text: '', says: /kebab-case/ },
  { rule: 'names', path: 'native/model/some-thing.cc', text: '', says: /snake_case/ },
  { rule: 'names', path: 'harness/load/index.ts', text: '', says: /no barrels/ },
  {
    rule: 'bans',
    path: 'harness/load/a.ts',
    text: 'let a;\nconsole.log(a);',
    says: /a\.ts:2 has "console\.log\("/,
  },
  { rule: 'bans', path: 'harness/client/a.ts', text: 'const t = Date.now();', says: /monotonic/ },
  { rule: 'bans', path: 'harness/sweep/a.ts', text: 'process.exit(1);', says: /exit code/ },
  { rule: 'bans', path: 'server/http/a.ts', text: 'const x = process.env;', says: /pass it on/ },
  { rule: 'bans', path: 'native/model/a.cc', text: '// TODO: later', says: /open an issue/ },
  { rule: 'bans', path: 'server/a.ts', text: 'let a: any;', says: /unknown/ },
  { rule: 'bans', path: 'server/a.ts', text: 'export default 1;', says: /named export/ },
  { rule: 'bans', path: 'server/a.test.ts', text: 'test.skip();', says: /make it run/ },
  { rule: 'headers', path: 'server/a.ts', text: 'let a;\n'.repeat(70), says: /what it is for/ },
];

for (const { rule, path, text, says } of PLANTED) {
  test(`the rule "${rule}" finds a planted violation in ${path}: ${says.source}`, () => {
    const found = RULES[rule]?.({ path, text }) ?? [];
    assert.equal(found.length, 1, found.join('\n'));
    assert.match(found[0] ?? '', says);
  });
}

test('no rule finds anything in what is allowed', () => {
  const text = [
    '// What it is for. console.log( in a comment is no call.',
    "import { a } from '../client/timeline.ts';",
    "import { b } from '../../server/protocol/step-trace.ts';",
    "import { z } from 'zod';",
  ].join('\n');
  const file = { path: 'harness/attribution/a.ts', text };
  assert.deepEqual(
    Object.values(RULES).flatMap((rule) => rule(file)),
    [],
  );
});
