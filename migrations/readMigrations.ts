import { readdirSync, readFileSync, statSync } from 'node:fs';
import { MIGRATION_NAMES } from '../shared/lib/migrationNames.ts';
import type { ConcurrentIndex } from './concurrentIndexes.ts';

/** A migration: statements that run in one transaction, and the indexes on existing tables that are built before it. */
export interface Migration {
  sql: string;
  concurrentIndexes: readonly ConcurrentIndex[];
}

const CONCURRENT_INDEX = /^CREATE (UNIQUE )?INDEX CONCURRENTLY (\w+) ON ([^;]+);$/gm;

/**
 * Reads the migrations of this version, in order. A migration is a file `<name>.sql`, or a folder of such files, which
 * run in the order of their names.
 */
export function readMigrations(): Record<string, Migration> {
  return Object.fromEntries(MIGRATION_NAMES.map((name) => [name, parseMigration(readSql(name))]));
}

/** Separates the indexes that are built concurrently, which no transaction can do, from the other statements. */
export function parseMigration(text: string): Migration {
  const concurrentIndexes = [...text.matchAll(CONCURRENT_INDEX)].map(([, unique, name = '', on = '']) => ({
    name,
    on,
    unique: unique !== undefined,
  }));
  return { sql: text.replaceAll(CONCURRENT_INDEX, '-- $2 is built concurrently.'), concurrentIndexes };
}

function readSql(name: string): string {
  const folder = new URL(`./${name}/`, import.meta.url);
  if (statSync(folder, { throwIfNoEntry: false }) === undefined)
    return readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8');
  const files = readdirSync(folder).toSorted();
  return files.map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n');
}
