-- Releases of the catalog, and the models and plans that were ever part of one, with the default ones from the start.

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

CREATE TABLE catalog_plans (
  slug                 text        PRIMARY KEY,
  name                 text        NOT NULL,
  price_monthly_cents  integer     NOT NULL CHECK (price_monthly_cents > 0),
  price_yearly_cents   integer     NOT NULL CHECK (price_yearly_cents > 0),
  monthly_credits      integer     NOT NULL CHECK (monthly_credits > 0),
  parallel_limit       integer     NOT NULL CHECK (parallel_limit > 0),
  released_at          timestamptz,
  sold_at              timestamptz,
  removed_at           timestamptz
);
COMMENT ON TABLE catalog_plans IS 'every plan that was released; its terms stay, also after it was removed';
COMMENT ON COLUMN catalog_plans.released_at IS 'first release of a CATALOG with this plan; NULL: a default plan';
COMMENT ON COLUMN catalog_plans.sold_at IS 'first subscription to the plan, written by a trigger';
COMMENT ON COLUMN catalog_plans.removed_at IS 'when a release no longer contained the plan; NULL: the last one does';
INSERT INTO catalog_plans (slug, name, price_monthly_cents, price_yearly_cents, monthly_credits, parallel_limit) VALUES
  ('lite', 'Lite', 600, 7200, 200, 2),
  ('starter', 'Starter', 1200, 14400, 400, 3),
  ('pro', 'Pro', 2900, 34800, 1100, 5),
  ('studio', 'Studio', 7500, 90000, 3000, 8);

-- The first subscription waits here for a release in progress, which locks the table.
CREATE FUNCTION mark_plan_sold() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE catalog_plans SET sold_at = now() WHERE slug = NEW.plan_slug AND sold_at IS NULL;
    RETURN NULL;
  END
$$;
CREATE TRIGGER subscriptions_mark_plan_sold AFTER INSERT ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION mark_plan_sold();
CREATE TRIGGER subscriptions_mark_plan_sold_on_update AFTER UPDATE OF plan_slug ON subscriptions
  FOR EACH ROW WHEN (OLD.plan_slug <> NEW.plan_slug) EXECUTE FUNCTION mark_plan_sold();
