import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../dev/local/environment/build.ts';

/** Address of the service in the documents. */
const DOCUMENTED_URL = 'https://your.host';
const DOCUMENTED_KEY = 'svc_...';

/**
 * A page of the documentation whose commands and settings are used as they are, with the address and a key filled in.
 */
export class ExecutableDocument {
  readonly #text: string;

  constructor(path: string, values: { baseUrl: string; key: string }) {
    this.#text = readFileSync(join(ROOT, path), 'utf8')
      .replaceAll(DOCUMENTED_URL, values.baseUrl)
      .replaceAll(DOCUMENTED_KEY, values.key);
  }

  /** The only command in a shell block that matches a pattern. */
  findCommand(pattern: RegExp): string {
    const blocks = [...this.#text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
    const found = blocks.flatMap((block) => block.split('\n')).filter((line) => pattern.test(line));
    if (found.length !== 1) throw new Error(`${found.length} commands match ${String(pattern)}.`);
    return found[0] as string;
  }

  /** The contents of a file, by its name in the comment in the first line of a block. */
  findFile(name: string): string {
    for (const [, block = ''] of this.#text.matchAll(/^```\w+\n([^]*?)^```$/gm)) {
      const [first = '', ...lines] = block.split('\n');
      if (/^\/\/ ([\w./~]+)/.exec(first)?.[1] === name) return lines.join('\n');
    }
    throw new Error(`No block is named ${name}.`);
  }
}
