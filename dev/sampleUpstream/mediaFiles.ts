import { mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import send from 'send';

/** A rendered file in the folder of files. */
export interface StoredFile {
  name: string;
  contentType: string;
  sizeBytes: number;
}

export interface MediaFiles {
  folder: string;
  /** Serves a file, with support for ranges and conditional requests. */
  serve(name: string, request: IncomingMessage, response: ServerResponse): void;
  remove(files: StoredFile[]): void;
  close(): void;
}

/**
 * Opens the folder of rendered files. Without `dataDir` it is a temporary one, deleted at `close`. Deletes files of a
 * previous process in `dataDir`: its jobs are lost, so that no request could clean them up.
 */
export function openMediaFiles(dataDir: string | undefined): MediaFiles {
  const root = dataDir ?? mkdtempSync(join(tmpdir(), 'sample-upstream-'));
  const folder = join(root, 'files');
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) removeQuietly(join(folder, name));
  return {
    folder,
    serve: (name, request, response) => {
      send(request, `/${encodeURIComponent(name)}`, { root: folder, index: false, dotfiles: 'deny', maxAge: 3_600_000 })
        .on('error', (error: Error & { status?: number }) => {
          response.writeHead(error.status ?? 500, { 'Content-Type': 'application/json' });
          response.end(JSON.stringify({ detail: STATUS_CODES[error.status ?? 500] }));
        })
        .pipe(response);
    },
    remove: (files) => {
      for (const file of files) removeQuietly(join(folder, file.name));
    },
    close: () => {
      if (dataDir === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already deleted.
  }
}
