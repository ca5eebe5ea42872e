import { createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Program } from '../environment/program.ts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;
const LEVEL_NAMES: Record<number, string> = { 40: 'warning', 50: 'error', 60: 'fatal' };
const WARNING_LEVEL = 40;

interface LogEntry extends Record<string, unknown> {
  level?: number;
  time?: string;
  msg?: string;
}

/** The log file of one program; warnings and errors are also printed on the console. */
export interface ProgramLog {
  /** Writes the output of a program. */
  capture(program: Program): void;
  close(): Promise<void>;
}

/**
 * Opens `logs/<name>.log` in the data folder. A file of more than 10 MB is renamed to `.log.1` first.
 * @param onLine receives each line of the program.
 */
export function openProgramLog(dataDir: string, name: string, onLine: (line: string) => void): ProgramLog {
  const folder = join(dataDir, 'logs');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.log`);
  if (existsSync(file) && statSync(file).size > MAX_LOG_BYTES) renameSync(file, `${file}.1`);
  const stream = createWriteStream(file, { flags: 'a' });
  // A full disk must not end the launcher, and with it the databases.
  stream.on('error', (error) => console.error(`${name}: writing its log failed (${error.message})`));
  const write = (line: string): void => {
    stream.write(`${line}\n`);
    onLine(line);
    const readable = formatLogLine(line);
    if (readable !== null) console.error(`${name}: ${readable}`);
  };
  return {
    capture: ({ child }) => {
      for (const output of [child.stdout!, child.stderr!])
        createInterface({ input: output, crlfDelay: Infinity }).on('line', write);
    },
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}

/** Formats a log line that is a warning or worse, or that is not a log line, such as a stack trace; else null. */
export function formatLogLine(line: string): string | null {
  const entry = parseLogEntry(line);
  if (entry === null) return line.trim() === '' ? null : line;
  const { level, time: _time, msg, ...fields } = entry;
  if (typeof level !== 'number' || level < WARNING_LEVEL) return null;
  const details = Object.entries(fields).map(([name, value]) => `${name}: ${formatLogValue(value)}`);
  const name = LEVEL_NAMES[level] ?? 'error';
  return `${name}: ${msg ?? 'no message'}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

function parseLogEntry(line: string): LogEntry | null {
  if (!line.startsWith('{')) return null;
  try {
    const entry: LogEntry = JSON.parse(line);
    return entry;
  } catch {
    return null;
  }
}

/** Only the message of an error: its stack is in the file. */
function formatLogValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
