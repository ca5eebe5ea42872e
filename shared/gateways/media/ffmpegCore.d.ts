/** The part of `@ffmpeg/core` that is used here; the package has no types of its own. */
declare module '@ffmpeg/core' {
  export interface FfmpegCore {
    setLogger(logger: (line: { message: string }) => void): void;
    /** @returns ffmpeg's exit status. */
    exec(...args: string[]): number;
    FS: { writeFile(path: string, data: Uint8Array): void; readFile(path: string): Uint8Array };
  }
  export default function create(options: {
    wasmBinary: Uint8Array;
    locateFile(name: string): string;
  }): Promise<FfmpegCore>;
}
