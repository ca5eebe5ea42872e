import { expect } from 'chai';
import fc from 'fast-check';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { listParams } from '../../shared/lib/catalog/paramValues.ts';
import type { CatalogModel, GenerationParams, ModelDefinition, Template } from '../../shared/spec/catalog.ts';

const VIDEO = {
  name: 'Clip model',
  kind: 'video',
  description: 'Clips from a text prompt.',
  upstreams: ['fal:acme/clips'],
  params: {
    duration: { type: 'integer', minimum: 2, maximum: 12, default: 4 },
    resolution: { enum: ['720p', '1080p'], default: '720p' },
    audio: { type: 'boolean', default: false },
    seed: { type: 'integer', minimum: 0, maximum: 1_000_000 },
  },
};

const parse = (models: Record<string, unknown>) => parseCatalog({ CATALOG: JSON.stringify({ models }) });
const parseModel = (credits: Template): CatalogModel =>
  parse({ clip: { ...VIDEO, credits } }).models[0] as CatalogModel;

const CLIP: GenerationParams = { duration: 4, resolution: '720p', audio: false };

const range = (maximum: number) => ({ type: 'integer', minimum: 1, maximum, default: 1 });

describe('the price of a generation', () => {
  const formulas: [credits: Template, params: GenerationParams, price: number, least: number, most: number][] = [
    [8, CLIP, 8, 8, 8],
    [{ per_second: 7 }, CLIP, 28, 14, 84],
    [{ base: 5, per_second: 7 }, { ...CLIP, duration: 12 }, 89, 19, 89],
    [
      { base: 5, per_second: { $by: 'resolution', '720p': 4, '1080p': 7 } },
      { ...CLIP, resolution: '1080p' },
      33,
      13,
      89,
    ],
    [
      { $by: 'resolution audio', '720p true': 20, '720p false': 12, '1080p true': 40, '1080p false': 24 },
      { ...CLIP, audio: true },
      20,
      12,
      40,
    ],
    [{ $by: 'audio', true: { per_second: 3 }, false: 9 }, { ...CLIP, audio: true }, 12, 6, 36],
    ['$duration', CLIP, 4, 2, 12],
  ];
  for (const [credits, params, price, least, most] of formulas) {
    it(`follows the formula ${JSON.stringify(credits)}`, () => {
      const model = parseModel(credits);
      expect([model.price(params), model.creditsBase, model.creditsMax]).to.deep.equal([price, least, most]);
    });
  }

  it('counts for each file', () => {
    const params = { ...VIDEO.params, count: range(4) };
    const credits = { base: 3, per_second: 2 };
    const [model] = parse({ clip: { ...VIDEO, params, credits, outputs: '$count' } }).models;
    expect([model?.price({ ...CLIP, count: 3 }), model?.creditsBase, model?.creditsMax]).to.deep.equal([33, 7, 108]);
  });

  it('is between the prices that the list of models shows', () => {
    const model = parseModel({ base: 3, per_second: { $by: 'resolution', '720p': 2, '1080p': 5 } });
    const params = fc.record({
      duration: fc.integer({ min: 2, max: 12 }),
      resolution: fc.constantFrom('720p', '1080p'),
      audio: fc.boolean(),
      seed: fc.integer({ min: 0, max: 1_000_000 }),
    });
    fc.assert(
      fc.property(params, (values) => {
        const price = model.price(values);
        return Number.isInteger(price) && price >= model.creditsBase && price <= model.creditsMax;
      }),
    );
  });

  it('is tried with all limits of its values together, even if there are many parameters', () => {
    const many = Object.fromEntries(Array.from('abcdefgh', (name) => [name, { enum: ['1', '2'], default: '1' }]));
    const credits = { base: '$images', per_second: '$tier' };
    const parseTiers = (tiers: object) =>
      parse({ clip: { ...VIDEO, params: { ...VIDEO.params, ...many, ...tiers }, credits } });
    expect(() => parseTiers({ images: range(900_000), tier: range(10_000) })).to.throw(
      'the price must be a whole number from 1 to 1000000',
    );
    expect(() => parseTiers({ images: { enum: [8, -5], default: 8 }, tier: { enum: [9, 1], default: 9 } })).to.throw(
      'the price must be a whole number from 1 to 1000000, not -3',
    );
    const { models } = parseTiers({ images: { enum: [8, 5], default: 8 }, tier: { enum: [9, 1], default: 9 } });
    expect(models[0]?.creditsBase).to.equal(7);
  });
});

const DEFINITION = { ...VIDEO, credits: 8 } as unknown as ModelDefinition;
const listValues = (name: string) => new Set(listParams(DEFINITION).map((params) => params[name]));

describe('the values with which a model is tried at the start', () => {
  it('contain every value of a list, a short range and an option, and the limits of a long range', () => {
    expect([...listValues('duration')]).to.have.members([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect([...listValues('resolution')]).to.have.members(['720p', '1080p']);
    expect([...listValues('audio')]).to.have.members([true, false]);
    expect([...listValues('seed')]).to.have.members([0, 1_000_000, undefined]);
  });

  it('contain every combination of the parameters of a table, even if there are many parameters', () => {
    const letters = Array.from('abcdefgh');
    const params = Object.fromEntries(letters.map((name) => [name, { enum: ['1', '2', '3'], default: '1' }]));
    const found = listParams({ params }, [['a', 'b', 'c']]);
    expect(found.length).to.be.lessThan(60);
    expect(new Set(found.map(({ a, b, c }) => [a, b, c].join(' '))).size).to.equal(27);
    for (const name of letters) expect(new Set(found.map((values) => values[name])).size).to.equal(3);
  });
});

describe('the id of a catalog', () => {
  const model = { ...VIDEO, credits: { base: 5, per_second: 7 } };

  it('depends on everything that prices and runs depend on, and not on the order of fields', () => {
    const { id } = parse({ clip: model });
    expect(id).to.be.within(1, Number.MAX_SAFE_INTEGER);
    const reordered = Object.fromEntries(Object.entries(model).toReversed());
    expect(parse({ clip: reordered }).id).to.equal(id);
    expect(parse({ clip: { ...model, credits: { base: 6, per_second: 7 } } }).id).to.not.equal(id);
    expect(parse({ clip: { ...model, upstreams: ['fal:acme/other'] } }).id).to.not.equal(id);
    expect(parse({ other: model }).id).to.not.equal(id);
  });

  it('is null for the default models, whose generations record no release', () => {
    expect(parseCatalog().id).to.equal(null);
    expect(parseCatalog({ CATALOG: '{}' }).id).to.equal(null);
  });
});
