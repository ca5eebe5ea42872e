import type { Knex } from 'knex';

/** Creates the releases of the catalog, and the models that were ever part of one. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE catalog_releases (
      id           bigint      PRIMARY KEY,
      body         jsonb       NOT NULL,
      released_at  timestamptz NOT NULL
    );
    COMMENT ON TABLE catalog_releases IS 'definitions of the models that a release step has stored';
    COMMENT ON COLUMN catalog_releases.id IS 'hash of the body';
    COMMENT ON COLUMN catalog_releases.released_at IS 'last time that this catalog was released';

    CREATE TABLE catalog_models (
      slug         text        PRIMARY KEY,
      uuid         uuid        NOT NULL UNIQUE,
      kind         text        NOT NULL CHECK (kind IN ('video', 'image')),
      name         text        NOT NULL,
      released_at  timestamptz NOT NULL,
      removed_at   timestamptz
    );
    COMMENT ON TABLE catalog_models IS 'every model that was released; a slug keeps its uuid and kind for ever';
    COMMENT ON COLUMN catalog_models.removed_at IS 'release that no longer contains it; its generations keep its name';
    INSERT INTO catalog_models (slug, uuid, kind, name, released_at) VALUES
      ('vidmodel-video', '6f1b7c9e-2d43-4a58-9c1e-0b6a4f7d8e21', 'video', 'Video model', now()),
      ('imgmodel-2', 'c25e8a13-77d0-4f3b-8e94-5d1a9b0c6f42', 'image', 'Image model', now());

    ALTER TABLE generations ADD COLUMN catalog_id bigint;
    COMMENT ON COLUMN generations.catalog_id IS 'release that it was priced by and is run by; NULL: the default models';
    COMMENT ON COLUMN upstream_health.position IS '0: first choice of the model, from 1: its fallbacks';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations DROP COLUMN catalog_id;
    DROP TABLE catalog_models, catalog_releases;
    COMMENT ON COLUMN upstream_health.position IS '0: first choice of the model, 1: its fallback';
  `);
}
