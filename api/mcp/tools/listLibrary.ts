import { loadReleasedModels } from '../../../shared/domain/catalog/knownModels.ts';
import { getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import Type from 'typebox';
import { listGenerations } from '../../../shared/domain/generations/list.ts';
import { FILTERED_ITEMS_MAX } from '../../../shared/spec/limits.ts';
import { hasConditions } from '../../../shared/lib/listFilter.ts';
import { getGenerationFilters, parseGenerationFilter } from '../../features/generations/listFilters.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { PaginationResponse } from '../../pipeline/lists.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import { countPages } from '../../../shared/lib/pagination.ts';
import { defineTool, type Tool } from './defineTool.ts';
import { formatCredits } from './modelTexts.ts';
import { truncateText } from '../../../shared/lib/truncateText.ts';
import { NextStep, type PresentedGeneration } from './callToolResult.ts';

/** Same maximum as REST. */
const PAGE_MAX = 999_999_999_999_999;
const PROMPT_SHOWN_CHARACTERS = 80;

const buildInput = () =>
  Type.Object(
    {
      page: Type.Integer({
        minimum: 1,
        maximum: PAGE_MAX,
        default: 1,
        description: 'Page number from 1; 20 generations per page.',
      }),
      ...Type.Pick(Type.Object(getGenerationFilters()), ['status', 'kind']).properties,
      model: Type.Optional(Type.Enum(getModelSlugs(), { description: 'Only generations of this model.' })),
      created_after: Type.Optional(
        Type.String({
          description: 'Only generations created at this time or later: a date in UTC, or a time with its zone.',
        }),
      ),
      created_before: Type.Optional(
        Type.String({
          description: 'Only generations created before this time: a date in UTC, or a time with its zone.',
        }),
      ),
      // Not an object with any keys, which the strict modes of models do not accept.
      metadata: Type.Optional(
        Type.Array(Type.Object({ key: Type.String(), value: Type.String() }, { additionalProperties: false }), {
          description: 'Only generations created over the REST API with these metadata: up to 3 pairs.',
        }),
      ),
    },
    { additionalProperties: false, required: [] },
  );

/** Fewer fields than REST returns, and none that is null, to save the model's context. get_generation returns all. */
const buildLibraryItem = () =>
  Type.Object({
    ...Type.Pick(getGenerationResponse(), ['uuid', 'kind', 'status', 'prompt', 'credits_charged', 'created_at'])
      .properties,
    output_url: Type.Optional(Type.String()),
    error_message: Type.Optional(Type.String()),
  });

export const buildLibraryOutput = () =>
  Type.Object({
    pagination: Type.Pick(PaginationResponse, ['current_page', 'total_pages', 'total_items']),
    data: Type.Array(buildLibraryItem()),
    next: NextStep,
  });

/** Names the pairs as the parameters of REST. Several values of a key become an array, which the filter rejects. */
function toFilterParameters(pairs: readonly { key: string; value: string }[]): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  for (const { key, value } of pairs) {
    const name = `metadata[${key}]`;
    parameters[name] = name in parameters ? [parameters[name], value] : value;
  }
  return parameters;
}

export const listLibrary = (): Tool =>
  defineTool({
    name: 'list_library',
    title: 'List the library',
    description:
      'Lists the images and videos of the account, newest first, 20 per page: prompt, status and download URL. Use it ' +
      'to find an earlier generation, with filters by status, kind, model, time and metadata; costs no credits. If the ' +
      'uuid is known, use get_generation.',
    icon: 'library',
    input: buildInput(),
    output: buildLibraryOutput(),
    spendsCredits: false,
    needs: 'viewGenerations',
    run: async ({ page, metadata = [], ...filters }, { caller }) => {
      await loadReleasedModels();
      const filter = parseGenerationFilter({ ...filters, ...toFilterParameters(metadata) });
      const isFiltered = hasConditions(filter);
      const { items: rows, totalItems } = await listGenerations(caller.accountId, page, filter);
      const items = rows.map(presentGeneration);
      const pages = countPages(totalItems);
      const missing = page > pages ? `There is no page ${page}: the last one is ${pages}.` : null;
      const again = isFiltered ? ' and the same filters' : '';
      const more = page < pages ? ` Call list_library with page ${page + 1}${again} for older ones.` : '';
      const structured = {
        pagination: { current_page: page, total_pages: pages, total_items: totalItems },
        data: items.map(presentItem),
        next: missing ?? `get_generation returns one in full; long prompts are shortened here.${more}`,
      };
      const head = `${missing ?? `Page ${page} of ${pages};`} ${describeTotal(totalItems, isFiltered)}.`;
      return { text: [head, ...items.map(formatLine)].join('\n'), structured };
    },
  });

function presentItem(generation: PresentedGeneration) {
  const { uuid, kind, status, prompt, credits_charged, created_at, output_url, error_message } = generation;
  return {
    uuid,
    kind,
    status,
    prompt: truncateText(prompt, PROMPT_SHOWN_CHARACTERS),
    credits_charged,
    created_at,
    ...(output_url === null ? {} : { output_url }),
    ...(error_message === null ? {} : { error_message }),
  };
}

function describeTotal(count: number, isFiltered: boolean): string {
  if (isFiltered && count > FILTERED_ITEMS_MAX) return `more than ${FILTERED_ITEMS_MAX} generations match`;
  const noun = count === 1 ? 'generation' : 'generations';
  if (!isFiltered) return `${count} ${noun} in total`;
  return `${count} ${noun} ${count === 1 ? 'matches' : 'match'} the filters`;
}

function formatLine({
  kind,
  uuid,
  status,
  prompt,
  output_url,
  credits_charged,
  created_at,
}: PresentedGeneration): string {
  const where = output_url === null ? '' : ` ${output_url}`;
  return `- ${kind} ${uuid}, ${status}, ${formatCredits(credits_charged)}, ${created_at.toISOString().slice(0, 16)}Z: ${JSON.stringify(truncateText(prompt, PROMPT_SHOWN_CHARACTERS))}${where}`;
}
