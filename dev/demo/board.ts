const REDRAW_MS = 100;
const SPINNER = ['|', '/', '-', '\\'];

/** Live progress: one line a job. */
export interface Board {
  say(name: string, what: string): void;
  /** The last word on a job. */
  end(name: string, what: string): void;
  close(): void;
}

/** Opens a board. On a terminal its lines are drawn anew as they change, elsewhere each change is a line of its own. */
export function openBoard(names: string[], output: NodeJS.WriteStream): Board {
  return output.isTTY ? terminalBoard(names, output) : plainBoard(names, output);
}

function plainBoard(names: string[], output: NodeJS.WriteStream): Board {
  const last = new Map<string, string>();
  const say = (name: string, what: string): void => {
    if (last.get(name) === what) return;
    last.set(name, what);
    output.write(`${label(name, names)}  ${what}\n`);
  };
  return { say, end: say, close: () => {} };
}

function terminalBoard(names: string[], output: NodeJS.WriteStream): Board {
  const startedAt = performance.now();
  const lines = new Map(names.map((name) => [name, { what: 'waiting', ended: false }]));
  let drawn = 0;

  function draw(width = (output.columns || 80) - 1): void {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const turn = SPINNER[Math.floor(performance.now() / REDRAW_MS) % SPINNER.length]!;
    const text = [...lines].map(([name, { what, ended }]) =>
      `${label(name, names)}  ${ended ? what : `${turn} ${what}, ${seconds} s`}`.slice(0, width),
    );
    // Up to the first line, then each line from its beginning, cleared to its end.
    output.write(`${drawn > 0 ? `\u001b[${drawn}A` : ''}${text.map((line) => `\r\u001b[2K${line}\n`).join('')}`);
    drawn = text.length;
  }

  const timer = setInterval(draw, REDRAW_MS);
  return {
    say: (name, what) => lines.set(name, { what, ended: false }),
    end: (name, what) => lines.set(name, { what, ended: true }),
    close: () => {
      clearInterval(timer);
      // Whole lines, also where they are wider than the terminal: nothing is drawn over them any more.
      draw(Number.POSITIVE_INFINITY);
    },
  };
}

function label(name: string, names: string[]): string {
  return `  ${name.padEnd(Math.max(...names.map((each) => each.length)))}`;
}
