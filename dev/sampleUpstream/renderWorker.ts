import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import sharp from 'sharp';
import type { StoredFile } from './mediaFiles.ts';
import { renderImage } from './renderImage.ts';
import type { RenderReply, RenderTask } from './renderPool.ts';
import { renderVideo } from './renderVideo.ts';

// One rendering at a time in each thread, with little memory kept between them.
sharp.concurrency(1);
sharp.cache(false);

parentPort!.on('message', (task: RenderTask) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  void handleTask(task).then((reply) => parentPort!.postMessage(reply));
});

async function handleTask(task: RenderTask): Promise<RenderReply> {
  try {
    return { files: await renderFiles(task) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function renderFiles({ id, renderRequest, folder }: RenderTask): Promise<StoredFile[]> {
  if (renderRequest.kind === 'video')
    return [await storeFile(folder, `${id}.mp4`, 'video/mp4', await renderVideo(renderRequest))];
  const files: StoredFile[] = [];
  for (let index = 0; index < renderRequest.count; index += 1) {
    const name = `${id}${index === 0 ? '' : `-${index + 1}`}.${renderRequest.format}`;
    const bytes = await renderImage({ ...renderRequest, seed: renderRequest.seed + index });
    files.push(await storeFile(folder, name, `image/${renderRequest.format}`, bytes));
  }
  return files;
}

async function storeFile(folder: string, name: string, contentType: string, bytes: Uint8Array): Promise<StoredFile> {
  await writeFile(join(folder, name), bytes);
  return { name, contentType, sizeBytes: bytes.length };
}
