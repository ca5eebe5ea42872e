import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';

const BUNDLE_POSITION = /([^\s()]+\.bundle\.cjs):(\d+):(\d+)/g;

/** Replaces positions in a bundle, as stacks contain them, by those in the sources. */
export function restoreSourcePositions(text: string): string {
  const maps = new Map<string, SourceMap>();
  return text.replaceAll(BUNDLE_POSITION, (position, bundle: string, line: string, column: string) => {
    const map = maps.get(bundle) ?? readSourceMap(`${bundle}.map`);
    if (map === undefined) return position;
    maps.set(bundle, map);
    const found = map.findEntry(Number(line) - 1, Number(column) - 1);
    if (!('originalSource' in found)) return position;
    const source = relative('.', resolve(dirname(bundle), found.originalSource));
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

function readSourceMap(file: string): SourceMap | undefined {
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
}
