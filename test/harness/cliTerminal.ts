import { runCli } from '../../packages/cli/src/cli.ts';
import type { Terminal } from '../../packages/cli/src/terminal.ts';

export interface CliResult {
  status: number;
  stdout: string;
  stderr: string;
}

/** A person at a terminal, for the command line in the test's process. */
export class TestTerminal implements Terminal {
  env: Record<string, string | undefined>;
  isInteractive = true;
  isOutputTerminal = true;
  isJson = false;
  isQuiet = false;
  /** Standard input. */
  input = '';
  /** Answer to every question. */
  answer = '';
  readonly questions: string[] = [];
  /** Entered when a secret is asked for. */
  secret = '';
  readonly opened: string[] = [];
  readonly progressLines: string[] = [];
  stdout = '';
  stderr = '';
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;

  constructor(env: Record<string, string | undefined>) {
    this.env = env;
  }

  print(text: string): void {
    this.stdout += `${text}\n`;
  }

  note(text: string): void {
    this.stderr += `${text}\n`;
  }

  progress(line: string): void {
    this.progressLines.push(line);
  }

  async readSecret(): Promise<string> {
    return this.secret;
  }

  async readInput(): Promise<string> {
    return this.input;
  }

  async ask(question: string): Promise<string> {
    this.questions.push(question);
    return this.answer;
  }

  async writeFile(content: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of content) this.stdout += Buffer.from(chunk).toString('latin1');
  }

  openBrowser(url: string): void {
    this.opened.push(url);
  }

  /** Ends the command as ctrl-C does. */
  interrupt(): void {
    this.#controller.abort();
  }

  async run(...args: string[]): Promise<CliResult> {
    const status = await runCli(args, this);
    return { status, stdout: this.stdout, stderr: this.stderr };
  }
}
