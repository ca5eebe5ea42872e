/** The process as the commands see it: streams, environment and interruption. */
export interface Terminal {
  env: Record<string, string | undefined>;
  /** Options of every command. */
  isJson: boolean;
  isQuiet: boolean;
  /** Writes results. */
  print(text: string): void;
  /** Writes a file to the standard output. */
  writeFile(content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Writes progress, hints and errors. */
  note(text: string): void;
  /** Replaces the last line that was written by it, if people read `note`. */
  progress(line: string): void;
  /** Reads a line without showing it; from a pipe, everything. */
  readSecret(prompt: string): Promise<string>;
  /** Reads the standard input to its end. */
  readInput(): Promise<string>;
  /** Reads an answer that is shown. */
  ask(question: string): Promise<string>;
  /** True if a person can answer. */
  isInteractive: boolean;
  /** True if a person reads the results. */
  isOutputTerminal: boolean;
  openBrowser(url: string): void;
  /** Aborts when the person ends the command. */
  signal: AbortSignal;
}

/** Statuses of the process. docs/client.md lists them. */
export const EXIT = {
  success: 0,
  failure: 1,
  usage: 2,
  notSignedIn: 3,
  payment: 4,
  temporary: 5,
  generationFailed: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with a sentence and a status. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  /** Code for programs that read errors as JSON. */
  readonly code: string;

  constructor(exitCode: ExitCode, code: string, message: string) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/**
 * Ends a command that has, or may have, charged for a generation, with its cause and with a sentence that says how to
 * continue. Its status is never one that invites to repeat the command, which would charge again.
 */
export class ChargedError extends Error {
  override readonly name = 'ChargedError';
  /** Fields that are added to the JSON of the cause. */
  readonly fields: { uuid: string } | { idempotency_key: string };

  constructor(cause: unknown, fields: ChargedError['fields'], message: string) {
    super(message, { cause });
    this.fields = fields;
  }
}
