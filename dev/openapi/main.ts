import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateTypes } from '../../packages/client/codegen/generateTypes.ts';
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
} from './document.ts';

const USAGE = `npm run openapi [-- options]

Rewrites ${OPENAPI_PATH}, the checked-in description of the REST interface, from the code, and
${CLIENT_TYPES_PATH}, the types of the client library, from the description.

  --check          change nothing; fail if a file is outdated or breaks clients of the previously committed version
  --against <ref>  compare with the version at this commit or branch instead, for example origin/main`;

const { check, against } = readCommandLine('npm run openapi', USAGE, {
  check: { type: 'boolean' },
  against: { type: 'string' },
});
const text = formatOpenApiDocument(buildCurrentDocument());
const clientTypes = await generateTypes(JSON.parse(text) as Json);
if (check === true || against !== undefined) process.exitCode = checkDocument(against);
else {
  writeFileSync(OPENAPI_FILE, text);
  writeFileSync(CLIENT_TYPES_FILE, clientTypes);
}

function checkDocument(ref: string | undefined): number {
  const isCurrent = isUpToDate(OPENAPI_PATH, OPENAPI_FILE, text);
  if (!isUpToDate(CLIENT_TYPES_PATH, CLIENT_TYPES_FILE, clientTypes) || !isCurrent) return 1;
  const before = findBaseline(ref);
  if (before === undefined) {
    console.log(`${OPENAPI_PATH} is up to date. There is no committed version to compare it with.`);
    return 0;
  }
  const after = JSON.parse(text) as Json;
  const changes = findBreakingChanges(before, after);
  const [oldMajor, newMajor] = [before, after].map(({ info }) => String(info.version).split('.')[0]);
  if (changes.length === 0 || oldMajor !== newMajor) {
    console.log(`${OPENAPI_PATH} is up to date and compatible with the version before.`);
    return 0;
  }
  console.error(`${OPENAPI_PATH} breaks existing clients. Undo this, or raise the major version:\n`);
  for (const change of changes) console.error(`  ${change}`);
  return 1;
}

function isUpToDate(path: string, file: string, expected: string): boolean {
  if (readFileSync(file, 'utf8') === expected) return true;
  console.error(`${path} is outdated. Run npm run openapi and commit the file.`);
  return false;
}

/** The version at a commit; without one, the last committed version that differs from the current document. */
function findBaseline(ref: string | undefined): Json | undefined {
  const commits = ref === undefined ? git('log', '-n', '5', '--format=%H', '--', OPENAPI_PATH) : ref;
  const versions = (commits ?? '').split(/\s+/).filter((name) => name !== '');
  const contents = versions.map((name) => git('show', `${name}:${OPENAPI_PATH}`));
  const baseline = contents.find((content) => content !== undefined && (ref !== undefined || content !== text));
  return baseline === undefined ? undefined : (JSON.parse(baseline) as Json);
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: dirname(dirname(OPENAPI_FILE)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch {
    // Without git, or outside of a repository, there is no history.
    return undefined;
  }
}
