import { perService } from '../../../shared/lib/serviceScope.ts';
import { generateImage } from './generateImage.ts';
import { generateVideo } from './generateVideo.ts';
import { getGeneration } from './getGeneration.ts';
import { getUsage } from './getUsage.ts';
import { listLibrary } from './listLibrary.ts';
import type { Tool } from './defineTool.ts';

/** The five tools, in the order of `tools/list`. */
export const getTools: () => readonly Tool[] = perService(() => [
  generateImage(),
  generateVideo(),
  getGeneration(),
  listLibrary(),
  getUsage(),
]);

const getToolsByName = perService(() => new Map(getTools().map((tool) => [tool.name, tool])));

export function findTool(name: string): Tool | undefined {
  return getToolsByName().get(name);
}
