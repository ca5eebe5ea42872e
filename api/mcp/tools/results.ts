import Type from 'typebox';
import { config } from '../../../shared/lib/config.ts';
import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../../shared/spec/errors.ts';
import type { presentGeneration } from '../../rest/generations/presenter.ts';

export type PresentedGeneration = ReturnType<typeof presentGeneration>;

/** What a tool has to say. */
export interface ToolResult {
  /** For the model: all that matters, in sentences. */
  text: string;
  /**
   * For programs, and for models whose client shows them this in place of the text: what matters of the REST answer,
   * and where there is something to do next, `next`.
   */
  structured: object;
  links?: ResourceLink[];
}

/** Schema of an answer that also says what to do next. */
export const withNextStep = <Properties extends Type.TProperties>(response: Type.TObject<Properties>) =>
  Type.Object({ ...response.properties, next: Type.String({ description: 'What to do next' }) });

/** The beginning of a text, for a line of a list. */
export function truncateText(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}

export function toCallToolResult({ text, structured, links = [] }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...links],
    structuredContent: structured,
  };
}

/** A refusal as the model is told of it: the code that REST would have answered with, and its sentence (spec: Errors). */
export function toErrorResult({ code, message }: ServiceError): CallToolResult {
  return {
    content: [
      {
        type: 'text',
        text: [`${code}: ${message}`, NEXT_STEPS[code]?.()].filter((part) => part !== undefined).join(' '),
      },
    ],
    structuredContent: { error: code, detail: message },
    isError: true,
  };
}

const accountPageUrl = () => `${config.BASE_URL}/account/`;

/** What a model can do about an error, beyond what it says itself. */
const NEXT_STEPS: Partial<Record<ServiceError['code'], () => string>> = {
  subscription_required: () => `The user chooses a plan at ${accountPageUrl()}.`,
  insufficient_credits: () => `get_usage tells the balance; the user adds credits at ${accountPageUrl()}.`,
  parallel_limit_reached: () => 'get_usage tells how many may be under way; get_generation waits for one to end.',
  not_found: () => 'list_library shows what there is.',
  model_unavailable: () => 'Try again in a minute.',
};

const CONTENT_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
  webm: 'video/webm',
};

/** Where a finished generation can be downloaded: links, since its bytes would fill a model's context. */
export function buildResourceLinks(generation: PresentedGeneration): ResourceLink[] {
  const { kind, uuid, output_url, thumbnail_url } = generation;
  return [
    ...(output_url === null
      ? []
      : [buildResourceLink(output_url, `The ${kind}`, `${kind}-${uuid}`, ['user', 'assistant'])]),
    ...(thumbnail_url === null
      ? []
      : [buildResourceLink(thumbnail_url, 'Its thumbnail', `thumbnail-${uuid}`, ['assistant'])]),
  ];
}

function buildResourceLink(uri: string, title: string, name: string, audience: ('user' | 'assistant')[]): ResourceLink {
  const extension = /\.(\w+)$/.exec(uri)?.[1] ?? '';
  const mimeType = CONTENT_TYPES[extension];
  return {
    type: 'resource_link',
    uri,
    name: extension === '' ? name : `${name}.${extension}`,
    title,
    ...(mimeType === undefined ? {} : { mimeType }),
    annotations: { audience },
  };
}
