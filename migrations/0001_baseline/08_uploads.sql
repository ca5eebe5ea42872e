-- Uploads, and the images that generations take as input.

CREATE TABLE uploads (
  uuid          uuid        PRIMARY KEY,
  account_id    bigint      NOT NULL REFERENCES accounts (id),
  source        text        NOT NULL CHECK (source IN ('upload', 'url', 'data', 'generation')),
  status        text        NOT NULL CHECK (status IN ('pending', 'ready', 'failed')),
  -- As announced by the client; those of the stored image once it is ready.
  content_type  text        NOT NULL,
  bytes         integer     NOT NULL CHECK (bytes > 0),
  width         integer     CHECK (width > 0),
  height        integer     CHECK (height > 0),
  error         text,
  media_token   uuid        NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  created_at    timestamptz NOT NULL,
  -- 24 hours after the last use, at most two days after created_at. A generation may keep the image longer.
  expires_at    timestamptz NOT NULL,
  CHECK ((status = 'failed') = (error IS NOT NULL)),
  CHECK ((status = 'ready') = (width IS NOT NULL)),
  CHECK ((width IS NULL) = (height IS NULL))
);
COMMENT ON TABLE uploads IS 'images that customers provide; the files are below the folder of media_token';
CREATE INDEX uploads_account_created_idx ON uploads (account_id, created_at);
CREATE INDEX uploads_expires_at_idx ON uploads (expires_at);

CREATE TABLE generation_inputs (
  generation_uuid  uuid     NOT NULL,
  account_id       bigint   NOT NULL REFERENCES accounts (id),
  role             text     NOT NULL CHECK (role IN ('first_frame', 'last_frame', 'reference', 'mask')),
  position         smallint NOT NULL CHECK (position >= 0),
  upload_uuid      uuid     NOT NULL REFERENCES uploads (uuid),
  PRIMARY KEY (account_id, generation_uuid, role, position)
);
COMMENT ON TABLE generation_inputs IS 'images that a generation takes as input; written by its charge';
CREATE INDEX generation_inputs_upload_idx ON generation_inputs (upload_uuid);
