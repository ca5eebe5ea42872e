import Type from 'typebox';
import { config } from '../../../shared/lib/config.ts';
import type { CallToolResult, ImageContent } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../../shared/spec/errors.ts';
import type { presentGeneration } from '../../../shared/presenters/generation.ts';

export type PresentedGeneration = ReturnType<typeof presentGeneration>;

/** Result of a tool. */
export interface ToolResult {
  /** Summary for the model, in sentences. */
  text: string;
  /**
   * The relevant fields of the REST response, and `next` where another step follows. For programs, and for models whose
   * client shows them this instead of the text.
   */
  structured: object;
  /** A picture that the model sees. */
  image?: ImageContent;
}

export const NextStep = Type.String({ description: 'What to do next' });

/** Adds the field `next` to the schema of a response. */
export const withNextStep = <Properties extends Type.TProperties>(response: Type.TObject<Properties>) =>
  Type.Object({ ...response.properties, next: NextStep });

export function toCallToolResult({ text, structured, image }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...(image === undefined ? [] : [image])],
    structuredContent: structured,
  };
}

/** Converts an error to a tool result with the same code and detail as REST (spec: Errors). */
export function toErrorResult({ code, message, knownFields }: ServiceError): CallToolResult {
  const known = knownFields === undefined ? undefined : `Known arguments: ${knownFields.join(', ') || 'none'}.`;
  const sentences = [`${code}: ${message}`, known, NEXT_STEPS[code]?.()].filter((part) => part !== undefined);
  return {
    content: [{ type: 'text', text: sentences.join(' ') }],
    structuredContent: { error: code, detail: message },
    isError: true,
  };
}

const billingPageUrl = () => `${config.BASE_URL}/account/billing/`;

/**
 * Advice for the model, added to the error's own detail. No full stop follows a URL: some clients add it to the URL.
 */
const NEXT_STEPS: Partial<Record<ServiceError['code'], () => string>> = {
  subscription_required: () => `${billingPageUrl()} lists the plans.`,
  insufficient_credits: () => `get_usage returns the balance; at ${billingPageUrl()} the user can add credits.`,
  spending_limit_reached: () => 'Do not repeat the call before that; ask the user.',
  parallel_limit_reached: () => 'get_usage returns the limit; get_generation waits for a generation to end.',
  not_found: () => 'list_library lists the existing generations.',
  model_unavailable: () => 'Try again in a minute.',
};
