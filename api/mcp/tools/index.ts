import { generateImage } from './generateImage.ts';
import { generateVideo } from './generateVideo.ts';
import { getGeneration } from './getGeneration.ts';
import { getUsage } from './getUsage.ts';
import { listLibrary } from './listLibrary.ts';
import type { Tool } from './defineTool.ts';

/** The five tools, in the order of `tools/list`. */
export const TOOLS: readonly Tool[] = [generateImage, generateVideo, getGeneration, listLibrary, getUsage];

const TOOL_BY_NAME = new Map(TOOLS.map((tool) => [tool.name, tool]));

export function findTool(name: string): Tool | undefined {
  return TOOL_BY_NAME.get(name);
}
