-- Codes that staff create and customers redeem. Only their hashes are stored. A redemption is a ledger entry of the account,
-- whose effect key names the code and the account.
CREATE TABLE gift_codes (
  uuid        uuid         PRIMARY KEY,
  code_hash   bytea        NOT NULL UNIQUE,
  prefix      text         NOT NULL,
  credits     integer      NOT NULL CHECK (credits > 0),
  uses_max    integer      NOT NULL CHECK (uses_max > 0),
  uses        integer      NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND uses_max),
  expires_at  timestamptz,
  note        text         NOT NULL,
  created_by  bigint       REFERENCES accounts (id),
  role        text,
  created_at  timestamptz  NOT NULL,
  revoked_at  timestamptz
);
COMMENT ON COLUMN gift_codes.prefix IS 'the part of the code by which people recognize it';
COMMENT ON COLUMN gift_codes.credits IS 'credits of one redemption';
COMMENT ON COLUMN gift_codes.created_by IS 'the member of staff; NULL for a command';
COMMENT ON COLUMN gift_codes.role IS 'role of the member at that time';
COMMENT ON COLUMN gift_codes.note IS 'for staff; customers do not see it';
CREATE INDEX gift_codes_created_at_idx ON gift_codes (created_at);
