import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['api', 'dev', 'docs', 'migrations', 'packages', 'shared', 'test', 'worker'];
const OWN_FILE = 'test/writingStyle.test.ts';
/** Installed and built files, and types whose comments are those of the OpenAPI document. */
const EXCLUDED =
  /(?:^|\/)(?:node_modules|dist)\/|^packages\/(?:client\/src\/schema\.ts|python\/src\/genmeter\/types\.py)$/;

/** Words and phrases with a standard term that readers know: see docs/glossary.md. */
const BANNED_WORDS = [
  // `nobody` is also the name of an account.
  "(?<![`'])nobody",
  'somebody',
  'whoever',
  'anew',
  'in vain',
  'tells?',
  'hears?',
  'heard',
  '(?<!\\d |substring|key)rings?(?! buffer)',
  'rung',
  'bells?',
  'the rooms?',
  'the house',
  'mend(?:s|ed|ing)?',
  'looks? at',
  'looked at',
  'becomes? of',
  '(?:is|are) none of',
  'none of ours',
  'under way',
  'stand-?ins?',
  'goes on',
  'all the same',
  'such a one',
  'the books',
  'how-manieth',
  'told',
  // `refusal` is a field of estimates.
  "(?<![`'.])refusals?(?!:)",
  'forgets?',
  'given away',
  'out of reach',
  'of no use',
  'planted',
  '(?:in|of) the world',
  'no such thing',
  "(?:is|are)(?: not|n't) known here",
  "'s affair",
];
const WORDS = new RegExp(`\\b(?:${BANNED_WORDS.join('|')})\\b`, 'gi');
/** Comments begin with a verb or with the name of the thing, not with a relative clause. */
const OPENINGS =
  /(?:\/\*\*|\/\/|^ +\*) +(?:What|Whose|Who|Whoever|Whom|Of|So|How|Whether|For so|Where|One that|By which|To whom|That of|Those)\b(?! else)/gm;
/**
 * Lines of comments longer than 120 characters, which the formatter does not wrap. Addresses and directives cannot be
 * wrapped.
 */
const LONG_COMMENTS = /^ *(?:\/\*\*|\*|\/\/|--) (?!.*(?:https?:|oxlint|biome-ignore|@ts-)).*$(?<=^.{121,})/gm;
/** Functions are named verb first, or by the noun. `signIn` is a verb. */
const FUNCTION_NAMES = /\bfunction \w+(?:Of|(?<![sS]ign)In)\(|\bconst \w+Of = (?:async )?\(/g;

interface Finding {
  place: string;
  text: string;
}

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:tsx?|mjs|cjs|py|md|sql)$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => path !== OWN_FILE && !EXCLUDED.test(path));
}

function find(pattern: RegExp, path: string): Finding[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(pattern)].map((match) => ({
    place: `${path}:${text.slice(0, match.index).split('\n').length}`,
    text: match[0].trim(),
  }));
}

/**
 * Limits the check to some folders or files, for work on a part: STYLE_PATHS=shared/domain/billing,test/flows/x.test.ts
 */
const only = process.env['STYLE_PATHS']?.split(',') ?? [''];
const documents = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
const files = [...FOLDERS.flatMap(listFiles), ...documents].filter((path) =>
  only.some((part) => path.startsWith(part)),
);
const sources = files.filter((path) => !path.endsWith('.md'));

/** Fails with each finding on a line of its own. */
function expectNone(pattern: RegExp, among: readonly string[]): void {
  const findings = among.flatMap((path) => find(pattern, path));
  expect(findings.map(({ place, text }) => `${place} ${text}`).join('\n')).to.equal('');
}

describe('the writing style', () => {
  it('code, tests and documents use standard terms instead of metaphors', () => {
    expectNone(WORDS, files);
  });

  it('lines of comments have at most 120 characters', () => {
    expectNone(LONG_COMMENTS, sources);
  });

  it('comments begin with a verb or a noun phrase', () => {
    expectNone(OPENINGS, sources);
  });

  it('function names do not end in Of or In', () => {
    expectNone(FUNCTION_NAMES, sources);
  });
});
