// `bench doctor`: what this machine can do, what is missing and how to get it, and how quiet it is now.
import { type Check, inspectMachine } from '../doctor/checks.ts';
import { measureNoise } from '../doctor/noise.ts';
import { EXIT } from '../errors.ts';
import { checkList } from '../report/table.ts';

/** Always ends well: what is missing is the answer, not a failure. */
export async function doctorCommand({ json }: { json?: boolean }): Promise<number> {
  const checks: Check[] = [...inspectMachine(), ...(await measureNoise())];
  console.log(json === true ? JSON.stringify(checks) : checkList(checks));
  return EXIT.ok;
}
