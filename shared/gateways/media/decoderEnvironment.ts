/** Variables that Node, sharp and ffmpeg need to start: where programs, libraries and temporary files are. */
const PASSED_VARIABLES = [
  'PATH',
  'TMPDIR',
  'TEMP',
  'TMP',
  'SystemRoot',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
] as const;

/**
 * Returns the environment of the processes that decode what upstreams sent. A hostile file that takes one of them over
 * finds no key, password or address in it.
 */
export function getDecoderEnvironment(): Record<string, string> {
  const known = PASSED_VARIABLES.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(
    known.filter((entry): entry is [(typeof PASSED_VARIABLES)[number], string] => entry[1] !== undefined),
  );
}
