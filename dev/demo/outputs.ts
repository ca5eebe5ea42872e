import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BufferSource, Input, MP4 } from 'mediabunny';
import { shortenPath } from '../local/stack/startupSummary.ts';

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** A downloaded output, with a description of its contents. */
export interface DownloadedOutput {
  file: string;
  description: string;
}

/**
 * Downloads an output and verifies that it is what was requested.
 * @param check describes the contents, or throws if they are wrong.
 */
export async function downloadOutput(
  url: string,
  folder: string,
  name: string,
  check: (content: Buffer) => Promise<string>,
): Promise<DownloadedOutput> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} returned ${response.status}.`);
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
  const content = await readFile(file);
  return { file: shortenPath(file), description: `${await check(content)}, ${Math.ceil(content.length / 1024)} KB` };
}

/** Returns a check for a PNG of a size in pixels. */
export function expectPng(width: number, height: number): (content: Buffer) => Promise<string> {
  return async (content) => {
    if (!content.subarray(0, 8).equals(PNG_SIGNATURE)) throw new Error('The image is not a PNG.');
    const size = `${content.readUInt32BE(16)} x ${content.readUInt32BE(20)}`;
    assertEqual('The image', size, `${width} x ${height}`);
    return `PNG of ${size} pixels`;
  };
}

/** Returns a check for an MP4 of a size in pixels and a length in seconds, with sound. */
export function expectMp4(
  width: number,
  height: number,
  durationSeconds: number,
): (content: Buffer) => Promise<string> {
  return async (content) => {
    const input = new Input({ source: new BufferSource(content), formats: [MP4] });
    if (!(await input.canRead())) throw new Error('The video is not an MP4.');
    const [picture, sound] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
    const size = `${await picture?.getDisplayWidth()} x ${await picture?.getDisplayHeight()}`;
    assertEqual('The video', size, `${width} x ${height}`);
    const seconds = (await input.computeDuration()).toFixed(1);
    assertEqual('The video in seconds', seconds, durationSeconds.toFixed(1));
    const [pictureCodec, soundCodec] = [await picture?.getCodec(), await sound?.getCodec()];
    if (!soundCodec) throw new Error('The video has no sound.');
    return `MP4 of ${size} pixels and ${seconds} s, ${pictureCodec} with ${soundCodec}`;
  };
}

function assertEqual(what: string, is: string, should: string): void {
  if (is !== should) throw new Error(`${what} is ${is}, not ${should}.`);
}
