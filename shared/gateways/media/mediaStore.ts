/** Where outputs live. Paths are relative, with forward slashes; CDN_URL stands before them in what clients see. */
export interface MediaStore {
  /** Puts a finished local file in its place, whole or not at all; one that lies there already is replaced. */
  keep(localFile: string, path: string, contentType: string): Promise<void>;
  /** Removes all that lies below a folder. That there is nothing is not an error. */
  removeFolder(folder: string): Promise<void>;
  /**
   * Resolves when files can be kept and removed; an Error's message says why they cannot.
   * @throws UnusableStore where somebody has to change something; any other error where it may pass.
   */
  probe(): Promise<void>;
  /** Lets go of idle connections, at the end of a process. */
  close(): Promise<void>;
}

/** A store that refuses what is asked of it: trying again does not help, other settings or rights may. */
export class UnusableStore extends Error {}
