/**
 * What a process is there for, and so how much of the configuration it reads. `service`: API and worker, all of it.
 * `admin` and `check`: what the staff runs by hand, which submits nothing and charges nobody, and so neither needs nor
 * sees keys, providers and addresses.
 */
export type ProcessKind = 'service' | 'admin' | 'check';

let kind: ProcessKind = 'service';
let isKnown = false;

/**
 * Says what this process is there for: the main file of a program, first of all.
 * @throws Error where the configuration was loaded before, as that of a service.
 */
export function declareProcess(declared: ProcessKind): void {
  if (isKnown) throw new Error('Declare the process before its configuration is loaded.');
  kind = declared;
}

/** For the configuration alone: from here on it is settled. */
export function settledKind(): ProcessKind {
  isKnown = true;
  return kind;
}
