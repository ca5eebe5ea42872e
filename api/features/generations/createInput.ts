import type { CreateInput } from '../../../shared/domain/generations/chargeRequest.ts';
import { parseMetadata } from '../../../shared/domain/generations/metadata.ts';
import { parseWebhookUrl } from '../../../shared/domain/webhooks/webhookUrl.ts';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { createBodyParser, type Parse } from '../../../shared/lib/validation/bodyParser.ts';
import type { GenerationParams } from '../../../shared/spec/catalog.ts';
import { getCreateGenerationRequest, getHiddenGenerationRequest } from './schemas.ts';

const getCreateParser = perService(() => createBodyParser(getCreateGenerationRequest()));
const getHiddenParser = perService(() => createBodyParser(getHiddenGenerationRequest()));
const getParamsParsers = perService(
  () =>
    new Map(
      getCatalog().models.map(({ slug, params }) => [
        slug,
        createBodyParser(params, 'params.') as unknown as Parse<GenerationParams>,
      ]),
    ),
);

/** Parses the body of a create or an estimate. @throws ServiceError validation_error */
export function parseCreateInput(json: unknown): CreateInput {
  const body = (namesHiddenModel(json) ? getHiddenParser() : getCreateParser())(json);
  const { model, prompt, params, webhook_url: webhookUrl, max_credits: maxCredits } = body;
  const metadata = parseMetadata(body.metadata ?? {});
  return {
    model,
    prompt,
    params: (getParamsParsers().get(model) as Parse<GenerationParams>)(params),
    ...(webhookUrl === undefined ? {} : { webhook_url: parseWebhookUrl(webhookUrl, 'webhook_url') }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
  };
}

function namesHiddenModel(body: unknown): boolean {
  const { model } = (body ?? {}) as { model?: unknown };
  return getCatalog().modelsBySlug.get(model as string)?.hidden === true;
}
