/** Most models that a catalog may contain. */
export const LARGE_CATALOG_MODELS = 200;

const DESCRIPTION =
  'Detailed pictures with precise text, natural light and consistent characters, for product shots and posters.';

/**
 * Builds a catalog with as many models as it may contain. They have parameters of their own, fallbacks and tables of
 * prices.
 */
export function buildLargeCatalog(count = LARGE_CATALOG_MODELS): { models: Record<string, object> } {
  const models = Array.from({ length: count }, (_, index): [string, object] => {
    const isVideo = index % 3 === 2;
    const slug = `vendor-${index}-${isVideo ? 'video' : 'image'}-v1.5`;
    const shared = {
      name: `Vendor ${index}`,
      description: `${DESCRIPTION} Number ${index}.`,
      upstreams: [`fal:vendor/model-${index}`, `fal:vendor/spare-${index}`],
      sort_order: index,
    };
    const style = { enum: ['plain', `style-${index % 7}`], default: 'plain' };
    if (!isVideo) {
      const params = {
        resolution: { enum: ['1K', '2K', '4K'], default: '1K' },
        aspect_ratio: { enum: ['1:1', '16:9', '9:16'], default: '1:1' },
        style,
        [`option_${index % 40}`]: { type: 'integer', minimum: 1, maximum: 50, default: 28 },
      };
      const inputs = index % 5 === 0 ? { inputs: { image: { role: 'reference', max: 2 } } } : {};
      const credits = { $by: 'resolution', '1K': 2 + (index % 10), '2K': 14, '4K': 20 };
      return [slug, { ...shared, kind: 'image', params, ...inputs, credits }];
    }
    const params = {
      duration: { type: 'integer', minimum: 3, maximum: 12, default: 5 },
      resolution: { enum: ['720p', '1080p'], default: '720p' },
      aspect_ratio: { enum: ['16:9', '9:16'], default: '16:9' },
      audio: { type: 'boolean', default: false },
      style,
    };
    const credits = { base: 1 + (index % 5), per_second: { $by: 'resolution', '720p': 4, '1080p': 7 } };
    return [slug, { ...shared, kind: 'video', params, credits }];
  });
  return { models: Object.fromEntries(models) };
}
