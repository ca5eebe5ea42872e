const REDRAW_MS = 100;
const SPINNER_FRAMES = ['|', '/', '-', '\\'];

/** Live progress: one line a job. */
export interface ProgressDisplay {
  update(name: string, what: string): void;
  /** The last word on a job. */
  finish(name: string, what: string): void;
  close(): void;
}

/** Opens a board. On a terminal its lines are drawn anew as they change, elsewhere each change is a line of its own. */
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
    // Up to the first line, then each line from its beginning, cleared to its end.
    output.write(`${drawn > 0 ? `\u001b[${drawn}A` : ''}${text.map((line) => `\r\u001b[2K${line}\n`).join('')}`);
    drawn = text.length;
  }

  const timer = setInterval(draw, REDRAW_MS);
  return {
    update: (name, what) => lines.set(name, { what, ended: false }),
    finish: (name, what) => lines.set(name, { what, ended: true }),
    close: () => {
      clearInterval(timer);
      // Whole lines, also where they are wider than the terminal: nothing is drawn over them any more.
      draw(Number.POSITIVE_INFINITY);
    },
  };
}

function formatLabel(name: string, names: string[]): string {
  return `  ${name.padEnd(Math.max(...names.map((each) => each.length)))}`;
}
