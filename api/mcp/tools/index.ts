import { MODEL_KINDS } from '../../../shared/spec/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { buildGenerateTool } from './generateTool.ts';
import { getGeneration } from './getGeneration.ts';
import { getUsage } from './getUsage.ts';
import { listLibrary } from './listLibrary.ts';
import type { Tool } from './defineTool.ts';

/** The five tools, in the order of `tools/list`. One that creates generations of a kind without a model is left out. */
export const getTools: () => readonly Tool[] = perService(() => [
  ...MODEL_KINDS.toReversed().flatMap((kind) => buildGenerateTool(kind) ?? []),
  getGeneration(),
  listLibrary(),
  getUsage(),
]);

export function findTool(name: string): Tool | undefined {
  return getTools().find((tool) => tool.name === name);
}
