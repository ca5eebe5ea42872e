import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateTypes } from '../../packages/client/codegen/generateTypes.ts';
import { generatePythonTypes } from '../../packages/python/codegen/generateTypes.ts';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { findBreakingChanges } from './breakingChanges.ts';
import {
  buildCurrentDocument,
  CLIENT_TYPES_FILE,
  CLIENT_TYPES_PATH,
  formatOpenApiDocument,
  type Json,
  OPENAPI_FILE,
  OPENAPI_PATH,
  PYTHON_TYPES_FILE,
  PYTHON_TYPES_PATH,
  RELEASED_FILE,
  RELEASED_PATH,
  removeTexts,
  ROUTES_FILE,
} from './document.ts';
import { formatRouteTable, ROUTES_PATH } from './routeTable.ts';

const USAGE = `npm run openapi [-- options]

Rewrites ${OPENAPI_PATH}, the checked-in description of the REST interface, and ${ROUTES_PATH}, the table of
all routes, from the code; and from the description ${CLIENT_TYPES_PATH} and
${PYTHON_TYPES_PATH}, the types of the client libraries.

  --check          change nothing; fail if a file is outdated or breaks clients of the last release
  --against <ref>  compare with the version at this commit or branch instead, for example origin/main
  --release        also store the interface as that of the last release, ${RELEASED_PATH}`;

const { check, against, release } = readCommandLine('npm run openapi', USAGE, {
  check: { type: 'boolean' },
  against: { type: 'string' },
  release: { type: 'boolean' },
});
const text = formatOpenApiDocument(buildCurrentDocument());
/** The generated files: path, file and expected text. */
const generated = [
  [OPENAPI_PATH, OPENAPI_FILE, text],
  [ROUTES_PATH, ROUTES_FILE, formatRouteTable()],
  [CLIENT_TYPES_PATH, CLIENT_TYPES_FILE, await generateTypes(JSON.parse(text) as Json)],
  [PYTHON_TYPES_PATH, PYTHON_TYPES_FILE, generatePythonTypes(JSON.parse(text) as Json)],
] as const;
if (check === true || against !== undefined) process.exitCode = checkDocument(against);
else {
  for (const [, file, expected] of generated) writeFileSync(file, expected);
  if (release === true) writeFileSync(RELEASED_FILE, formatOpenApiDocument(removeTexts(JSON.parse(text) as Json)));
}

function checkDocument(ref: string | undefined): number {
  const outdated = generated.filter(([, file, expected]) => readFileSync(file, 'utf8') !== expected);
  for (const [path] of outdated) console.error(`${path} is outdated. Run npm run openapi and commit the file.`);
  if (outdated.length > 0) return 1;
  const [name, before] = readBaseline(ref);
  const after = JSON.parse(text) as Json;
  const changes = findBreakingChanges(before, after);
  const [oldMajor, newMajor] = [before, after].map(({ info }) => String(info.version).split('.')[0]);
  if (changes.length === 0 || oldMajor !== newMajor) {
    console.log(`${OPENAPI_PATH} is up to date and compatible with ${name}.`);
    return 0;
  }
  console.error(`${OPENAPI_PATH} breaks clients of ${name}. Undo this, or raise the major version:\n`);
  for (const change of changes) console.error(`  ${change}`);
  return 1;
}

/** Returns the interface to compare with, and its name: that of the last release, or the version at a commit. */
function readBaseline(ref: string | undefined): [name: string, document: Json] {
  if (ref === undefined) {
    const released = JSON.parse(readFileSync(RELEASED_FILE, 'utf8')) as Json;
    return [`release ${String(released['info'].version)}`, released];
  }
  const options = { cwd: dirname(dirname(OPENAPI_FILE)), maxBuffer: 64 * 1024 * 1024 };
  return [ref, JSON.parse(execFileSync('git', ['show', `${ref}:${OPENAPI_PATH}`], options).toString()) as Json];
}
