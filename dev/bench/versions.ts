import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Seed = Pick<typeof import('./seed.ts'), 'seedDatabase'> & Pick<typeof import('./verify.ts'), 'verifySums'>;

/**
 * Returns the seed and the sums of a version: its own modules, since its schema may differ.
 * @param checkout another version; default: this one.
 */
export async function loadSeed(checkout?: string): Promise<Seed> {
  const load = async (module: string): Promise<unknown> =>
    import(checkout === undefined ? `./${module}` : pathToFileURL(join(checkout, 'dev/bench', module)).href);
  const [seed, verify] = await Promise.all([load('seed.ts'), load('verify.ts')]);
  const { seedDatabase } = seed as typeof import('./seed.ts');
  const { verifySums } = verify as typeof import('./verify.ts');
  return { seedDatabase, verifySums };
}
