const REDRAW_MS = 100;
const SPINNER_FRAMES = ['|', '/', '-', '\\'];

/** Live progress, with one line per generation. */
export interface ProgressDisplay {
  update(name: string, what: string): void;
  /** Shows the final state of a generation. */
  finish(name: string, what: string): void;
  close(): void;
}

/** Opens a progress display. On a terminal it redraws its lines; elsewhere it prints a line for each change. */
export function openProgressDisplay(names: string[], output: NodeJS.WriteStream): ProgressDisplay {
  return output.isTTY ? createTerminalDisplay(names, output) : createPlainDisplay(names, output);
}

function createPlainDisplay(names: string[], output: NodeJS.WriteStream): ProgressDisplay {
  const last = new Map<string, string>();
  const say = (name: string, what: string): void => {
    if (last.get(name) === what) return;
    last.set(name, what);
    output.write(`${formatLabel(name, names)}  ${what}\n`);
  };
  return { update: say, finish: say, close: () => {} };
}

function createTerminalDisplay(names: string[], output: NodeJS.WriteStream): ProgressDisplay {
  const startedAt = performance.now();
  const lines = new Map(names.map((name) => [name, { what: 'waiting', ended: false }]));
  let drawn = 0;

  function draw(width = (output.columns || 80) - 1): void {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const spinner = SPINNER_FRAMES[Math.floor(performance.now() / REDRAW_MS) % SPINNER_FRAMES.length]!;
    const text = [...lines].map(([name, { what, ended }]) =>
      `${formatLabel(name, names)}  ${ended ? what : `${spinner} ${what}, ${seconds} s`}`.slice(0, width),
    );
    // Moves up to the first line, then overwrites and clears each line.
    output.write(`${drawn > 0 ? `\u001b[${drawn}A` : ''}${text.map((line) => `\r\u001b[2K${line}\n`).join('')}`);
    drawn = text.length;
  }

  const timer = setInterval(draw, REDRAW_MS);
  return {
    update: (name, what) => lines.set(name, { what, ended: false }),
    finish: (name, what) => lines.set(name, { what, ended: true }),
    close: () => {
      clearInterval(timer);
      // Prints full lines, even wider than the terminal: they are not redrawn any more.
      draw(Number.POSITIVE_INFINITY);
    },
  };
}

function formatLabel(name: string, names: string[]): string {
  return `  ${name.padEnd(Math.max(...names.map((each) => each.length)))}`;
}
