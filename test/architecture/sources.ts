import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
/** Folders that are deployed. */
const DEPLOYED = ['api', 'worker', 'shared', 'migrations'];

const INSTALLED_OR_BUILT = /(?:^|\/)(?:node_modules|dist)(?:\/|$)/;

/** A module of the deployed code. */
export interface Source {
  /** From the root of the project, with forward slashes. */
  path: string;
  text: string;
  /** The files of the project that it imports, and the packages. */
  imports: string[];
}

function readSources(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mts|mjs|cjs|js)$/.test(entry.name))
    .filter((entry) => !INSTALLED_OR_BUILT.test(relative(ROOT, entry.parentPath)))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const specifiers = [...text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
        ([, name = '']) => name,
      );
      const imports = specifiers.map((name) =>
        name.startsWith('.') ? relative(ROOT, join(dirname(file), name)) : name,
      );
      return { path: relative(ROOT, file), text, imports };
    });
}

export const sources = DEPLOYED.flatMap(readSources);
/** Modules of the tools and tests. */
export const tools = ['dev', 'test'].flatMap(readSources);
/** Modules of the packages for customers. */
export const packages = readSources('packages');

/** The imports that break a rule, as `file -> import`. */
export function findImports(from: (path: string) => boolean, to: (imported: string) => boolean): string[] {
  return sources
    .filter(({ path }) => from(path))
    .flatMap(({ path, imports }) => imports.filter(to).map((imported) => `${path} -> ${imported}`));
}

export const isUnder =
  (...folders: string[]) =>
  (path: string) =>
    folders.some((folder) => path.startsWith(`${folder}/`));
