/** A finished file on this machine's disk, and what it is to be in a store. */
export interface FinishedFile {
  localFile: string;
  /** Its name in the folder. */
  name: string;
  contentType: string;
}

/** Where outputs live. Paths are relative, with forward slashes; CDN_URL stands before them in what clients see. */
export interface MediaStore {
  /**
   * Puts finished files in their places in a folder, one after the other, each whole or not at all; what lies there
   * already is replaced. Their content has been flushed to the disk by whoever wrote them.
   */
  putFiles(folder: string, files: FinishedFile[]): Promise<void>;
  /** Whether files that are kept are gone from where they lay. */
  movesFiles: boolean;
  /** Removes all that lies below a folder. That there is nothing is not an error. */
  deleteFolder(folder: string): Promise<void>;
  /**
   * Resolves when files can be kept and removed; an Error's message says why they cannot.
   * @throws UnusableStore where somebody has to change something; any other error where it may pass.
   */
  probe(): Promise<void>;
  /** Lets go of idle connections, at the end of a process. */
  close(): Promise<void>;
}

/** A store that refuses what is asked of it: trying again does not help, other settings or rights may. */
export class StoreConfigError extends Error {}
