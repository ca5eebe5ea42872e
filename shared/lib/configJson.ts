import { ConfigError } from './config.ts';

/**
 * Parses a variable that contains JSON.
 * @throws ConfigError that names the variable and the position of the error, and repeats nothing that may be a secret.
 */
export function parseConfigJson(variable: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message of a parse error quotes its input.
    const place = / at position \d+.*/.exec((error as Error).message)?.[0] ?? '';
    throw new ConfigError(`${variable} is not valid JSON${place}.`);
  }
}
