import { expect } from 'chai';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { toPublicSchema } from '../../shared/lib/validation/publicSchema.ts';

describe('the published schema of a model', () => {
  const params = {
    steps: { enum: [1, 2] },
    strength: { enum: [1, 0.5] },
    size: { enum: ['S', 'M'] },
    trimmed: { type: 'boolean', default: false },
    caption: { type: 'string', maximum: 9 },
  };
  const model = {
    name: 'Poster model',
    kind: 'image',
    description: 'Posters.',
    upstreams: ['fal:posters'],
    params,
    credits: 8,
  };

  it('has the type of every list of values, and every parameter whatever its name', () => {
    const catalog = parseCatalog({ CATALOG: JSON.stringify({ models: { poster: model } }) });
    const { properties } = toPublicSchema(catalog.models[0]?.params) as { properties: object };
    expect(properties).to.deep.equal({
      steps: { type: 'integer', enum: [1, 2] },
      strength: { type: 'number', enum: [1, 0.5] },
      size: { type: 'string', enum: ['S', 'M'] },
      trimmed: { type: 'boolean', default: false },
      caption: { type: 'string', minLength: 0, maxLength: 9 },
    });
  });
});
