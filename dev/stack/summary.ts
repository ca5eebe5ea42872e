import { join, relative } from 'node:path';
import type { Database } from './databases.ts';

/** One line of what runs: what, version, address, and where it comes from. */
export type Part = readonly [what: string, version: string, address: string, note: string];

/** The line of a database, without the password in its address. */
export function describeDatabase({ name, version, url, how }: Database): Part {
  return [name, version, url.replace(/^(\w+:\/\/[^:/@]*):[^@]*@/, '$1:***@'), how];
}

/** Where this machine reaches what listens on a host and port of it. */
export function addressOf(host: string, port: number): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${reached}:${port}`;
}

/** Lays lines out in columns. */
export function align(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) => `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

/** Where to begin as long as nobody can sign in without a browser. */
export function firstPage(baseUrl: string): string {
  return `Sign in, choose a plan and make an API key: ${baseUrl}/account/`;
}

/** The commands that lead to a first image, ready to paste. */
export function firstSteps(baseUrl: string, dataDir: string): string {
  const jar = quote(join(shortPath(dataDir), 'cookies.txt'));
  const { origin } = new URL(baseUrl);
  const json = `-H 'Content-Type: application/json'`;
  const order = { model: 'imgmodel-2', prompt: 'A lighthouse at dusk', params: { resolution: '1K' } };
  const post = (path: string, body: unknown): string =>
    `curl -b ${jar} -H 'Origin: ${origin}' ${json} -d '${JSON.stringify(body)}' ${baseUrl}${path}`;
  return [
    'A first image, in another terminal:',
    '',
    `  curl -c ${jar} ${json} -d '{"email":"me@example.com"}' ${baseUrl}/authentication/dev/sign-in/`,
    `  ${post('/api/billing/checkout/', { plan: 'pro' })}`,
    `  ${post('/api/generations/create/', order)}`,
    '',
    'See it, at its output_url, some seconds later:',
    '',
    `  curl -b ${jar} ${baseUrl}/api/generations/`,
  ].join('\n');
}

/** A path as short as it can be said from here. */
export function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}

function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
