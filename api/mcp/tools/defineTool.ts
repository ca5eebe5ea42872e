import type { RequestId } from '@modelcontextprotocol/server';
import type { Static, TSchema } from 'typebox';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { toPublicSchema } from '../../../shared/lib/validation/publicSchema.ts';
import { requireRight } from '../../../shared/domain/accounts/caller.ts';
import type { MemberRight } from '../../../shared/spec/roles.ts';
import type { Scope } from '../../../shared/spec/oauth.ts';
import { GENERATION_VIEW_TOOL_META } from '../apps/generationView.ts';
import { buildIcon, type IconName } from '../icons.ts';
import type { McpRequestContext } from '../requestContext.ts';
import type { ToolResult } from './callToolResult.ts';
import { toOutputSchema } from './resultShape.ts';

/** Request context of a tool call. */
export interface ToolContext extends McpRequestContext {
  /** Sends a progress notification; null when the client did not ask for any. */
  reportProgress: ((progress: number, total: number, message: string) => void) | null;
  /** Idempotency key from the request's _meta; null when the client sent none. */
  idempotencyKey: string | null;
  /** Id that the client gave the message. */
  messageId: RequestId;
  /** Name of the tool and the arguments as the client sent them, in canonical form: equal for a repeated call. */
  call: string;
}

interface ToolDefinition<Input extends TSchema> {
  name: string;
  title: string;
  /** For the model that chooses a tool: effect, price, duration, next call. */
  description: string;
  icon: IconName;
  input: Input;
  output: TSchema;
  /** Price of a call, such as `8 credits`. Undefined if it costs nothing. */
  price?: string;
  /** True if it creates a generation: it then requires `svc:write` and counts against the rate limit of creates. */
  spendsCredits: boolean;
  /** Right that the role of the member must hold. */
  needs: MemberRight;
  /** True if the result is a generation, which clients with MCP Apps show in the chat. */
  hasView?: boolean;
  run: (input: Static<Input>, toolContext: ToolContext) => Promise<ToolResult>;
}

/** Builds a tool from its definition: input validation, listing, scope and rate class. */
export function defineTool<Input extends TSchema>(definition: ToolDefinition<Input>) {
  const { name, title, description, price, icon, input, output, spendsCredits, needs, hasView = false } = definition;
  const parse = createBodyParser(input);
  /** Entry in the response to `tools/list`. */
  const listing = {
    name,
    title,
    description,
    icons: [buildIcon(icon)],
    inputSchema: toPublicSchema(input),
    outputSchema: toOutputSchema(output),
    annotations: {
      title,
      readOnlyHint: !spendsCredits,
      destructiveHint: false,
      idempotentHint: !spendsCredits,
      // Creates call external models; the other tools read the account.
      openWorldHint: spendsCredits,
    },
    ...(hasView ? { _meta: GENERATION_VIEW_TOOL_META } : {}),
  };
  const scope: Scope = spendsCredits ? 'svc:write' : 'svc:read';
  const rateClass: 'create' | 'account' = spendsCredits ? 'create' : 'account';
  /** Validates the input and runs the tool. @throws ServiceError, which becomes the result of the call. */
  const run = async (given: unknown, toolContext: ToolContext) => {
    requireRight(toolContext.caller, needs);
    return definition.run(parse(given), toolContext);
  };
  return { name, description, price, scope, rateClass, listing, run };
}

/** A tool as the server lists and calls it. */
export type Tool = ReturnType<typeof defineTool>;
