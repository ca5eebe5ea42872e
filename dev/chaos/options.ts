import { exitWithUsageError } from '../../shared/lib/commandLine.ts';

/** Reads the number of an option; exits with 2 if it is not one in the range. */
export function readNumber(command: string, name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  const message = `--${name} must be a number from ${least} to ${most}, not "${text}".`;
  return exitWithUsageError(command, new Error(message));
}

/** Reads a whole number, as above. */
export function readInteger(command: string, name: string, text: string, least: number, most: number): number {
  const value = readNumber(command, name, text, least, most);
  if (Number.isInteger(value)) return value;
  return exitWithUsageError(command, new Error(`--${name} must be a whole number, not "${text}".`));
}
