-- The attempts of a delivery, which the statement that records an outcome appends.
ALTER TABLE webhook_deliveries ADD COLUMN attempt_log jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN webhook_deliveries.attempt_log IS 'the latest attempts, oldest first; see DeliveryAttempt in shared/tables';
