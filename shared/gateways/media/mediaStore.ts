import type { Readable } from 'node:stream';

/** Time for which browsers and CDNs may cache an output, and may still serve a deleted one. */
export const MEDIA_CACHE_SECONDS = 86_400;

/** Content of a file: in memory if it is small, otherwise in a local file. */
export type FileContent = { data: Uint8Array } | { localFile: string };

/** A complete file, with its name and type in the store. */
export type FinishedFile = FileContent & {
  /** File name in the folder. */
  name: string;
  contentType: string;
  /** True for a file that no cache may keep. */
  isPrivate?: boolean;
};

/** A request that a client without our keys may send to the store. */
export interface PresignedRequest {
  path: string;
  /** File that the request stores, of exactly this type and length. Without it, the request reads the file. */
  upload?: { contentType: string; bytes: number };
  expiresInSeconds: number;
}

/** Storage of outputs. Paths are relative, with forward slashes; clients see them after CDN_URL. */
export interface MediaStore {
  /**
   * Stores complete files in a folder and replaces existing ones atomically. The caller has flushed local files to the
   * disk. They may be moved, but not before every file in memory is stored.
   */
  putFiles(folder: string, files: FinishedFile[]): Promise<void>;
  /**
   * Opens a stored file, which the caller reads or destroys.
   * @returns null if it does not exist.
   * @throws InvalidOutputError if it has more than `maxBytes`.
   */
  openFile(path: string, maxBytes: number): Promise<Readable | null>;
  /** Signs an address of the store for one request. Null if the store has no addresses of its own. */
  presign: ((request: PresignedRequest) => Promise<string>) | null;
  /** Deletes a folder with its contents. A missing folder is not an error. */
  deleteFolder(folder: string): Promise<void>;
  /**
   * Checks that files can be stored and deleted. The message of an error says why they cannot.
   * @throws StoreConfigError if the configuration has to be changed; any other error if it may be temporary.
   */
  probe(): Promise<void>;
  /** Closes idle connections. */
  close(): Promise<void>;
}

/** A store that rejects requests. A retry does not help; other settings or permissions may. */
export class StoreConfigError extends Error {}
