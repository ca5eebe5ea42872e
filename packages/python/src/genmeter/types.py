# Generated from docs/openapi.json by npm run openapi. Do not edit.
"""Objects of requests and responses. They are plain dicts; fields may be added to responses."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class GenerationOutputs(TypedDict):
    output_url: str
    thumbnail_url: Optional[str]


class _GenerationRequired(TypedDict):
    uuid: str
    model: str
    model_name: str
    kind: Literal["video", "image"]
    prompt: str
    # The requested parameters, including defaults
    params: Dict[str, Any]
    status: Literal["queued", "succeeded", "failed"]
    # Download address; null until succeeded
    output_url: Optional[str]
    # Address of a small preview; null until succeeded, or if none could be created
    thumbnail_url: Optional[str]
    credits_charged: int
    # Reason of the failure; the credits were refunded
    error_message: Optional[str]
    # ISO 8601, UTC
    created_at: str
    # ISO 8601, UTC
    completed_at: Optional[str]
    # From created_at to completed_at
    duration_ms: Optional[int]
    is_watermarked: bool


class Generation(_GenerationRequired, total=False):
    # All files, if there are several; output_url is the first
    outputs: List[GenerationOutputs]
    # As in the create; absent without metadata
    metadata: Dict[str, str]


class EstimateRefusal(TypedDict):
    error: Literal[
        "subscription_required",
        "model_unavailable",
        "parallel_limit_reached",
        "spending_limit_reached",
        "insufficient_credits",
    ]
    detail: str


class Estimate(TypedDict):
    model: str
    # The requested parameters, including defaults
    params: Dict[str, Any]
    # Price of the generation
    credits: int
    balance: int
    # Balance less the price; negative by the credits that are missing
    balance_after: int
    # Whether the balance covers the price
    affordable: bool
    # Median time that recent runs of the model took; null while it is not known
    usual_seconds: Optional[int]
    # Error with which a create would be rejected now; null if it would be accepted
    refusal: Optional[EstimateRefusal]


class _ModelParamsSchemaRequired(TypedDict):
    resolutions: List[str]
    aspect_ratios: List[str]


class ModelParamsSchema(_ModelParamsSchemaRequired, total=False):
    # Seconds
    durations: List[int]
    # Whether sound is supported
    audio: bool


class Model(TypedDict):
    uuid: str
    # Sent as model when creating a generation
    slug: str
    name: str
    # The provider of the model
    provider: str
    kind: Literal["video", "image"]
    description: str
    # Price of the cheapest generation, in credits
    credits_base: int
    # Only an offline model rejects creates
    status: Literal["online", "degraded", "offline"]
    sort_order: int
    # The accepted values
    params_schema: ModelParamsSchema


class Plan(TypedDict):
    slug: Literal["lite", "starter", "pro", "studio"]
    name: str
    # Monthly sticker price, for display
    price_monthly_cents: int
    # Charged: twelve times the monthly price, once a year
    price_yearly_cents: int
    monthly_credits: int
    parallel_limit: int
    features: List[str]
    # Presented as the default
    highlight: bool


class UsageSummaryPlan(TypedDict):
    slug: Literal["lite", "starter", "pro", "studio"]
    name: str
    monthly_credits: int
    parallel_limit: int
    price_monthly_cents: int


class UsageSummaryCredits(TypedDict):
    balance: int
    used_this_period: int
    granted_this_period: int
    rollover: int
    # ISO 8601, UTC
    period_start: Optional[str]
    # ISO 8601, UTC
    period_end: Optional[str]


class UsageSummaryJobs(TypedDict):
    in_flight: int
    parallel_limit: int


class UsageSummaryHistory(TypedDict):
    date: str
    credits_used: int
    generations: int


class UsageSummaryByModel(TypedDict):
    # Display name
    model: str
    credits: int
    count: int


class UsageSummary(TypedDict):
    # null without an active subscription
    plan: Optional[UsageSummaryPlan]
    credits: UsageSummaryCredits
    jobs: UsageSummaryJobs
    # The last 30 days, today last
    history: List[UsageSummaryHistory]
    by_model: List[UsageSummaryByModel]


class KeyUsage(TypedDict):
    uuid: str
    name: str
    # The first 12 characters of the key
    prefix: str
    revoked: bool
    # Credits of the generations that the key created, less refunds
    credits: int
    # Generations that the key created, including failed and deleted ones
    count: int


class LedgerEntry(TypedDict):
    uuid: str
    entry_type: Literal["grant", "burn", "refund", "rollover", "expiry", "topup"]
    # Credits, signed: a burn is negative
    amount: int
    balance_after: int
    description: str
    # ISO 8601, UTC
    created_at: str


class ApiKeyCreditLimit(TypedDict):
    # Most credits to spend
    credits: int
    # A UTC day, a UTC month, or all time
    period: Literal["day", "month", "total"]


class _ApiKeyRequired(TypedDict):
    uuid: str
    name: str
    # The first 12 characters of the key
    prefix: str
    # Updated at most once in 60 seconds
    last_used_at: Optional[str]
    revoked: bool
    # ISO 8601, UTC
    created_at: str


class ApiKey(_ApiKeyRequired, total=False):
    # test for a test key; absent for others
    mode: Literal["test"]
    # Without it: the whole account, or with another option `svc:read` and `svc:write`
    scopes: List[Literal["svc:read", "svc:write", "account"]]
    # Without it: never
    expires_at: str
    credit_limit: ApiKeyCreditLimit
    # Credits used of the limit, less refunds
    credits_used: int
    # Start of the next day or month in UTC; null for the period total
    resets_at: Optional[str]
    # Models; without it: all
    allowed_models: List[str]
    # Addresses and ranges in CIDR notation; without it: all
    allowed_ips: List[str]


class CreatedApiKeyCreditLimit(TypedDict):
    # Most credits to spend
    credits: int
    # A UTC day, a UTC month, or all time
    period: Literal["day", "month", "total"]


class _CreatedApiKeyRequired(TypedDict):
    uuid: str
    name: str
    # The secret key, shown only once
    key: str
    prefix: str
    # ISO 8601, UTC
    created_at: str


class CreatedApiKey(_CreatedApiKeyRequired, total=False):
    # test for a test key; absent for others
    mode: Literal["test"]
    # Without it: the whole account, or with another option `svc:read` and `svc:write`
    scopes: List[Literal["svc:read", "svc:write", "account"]]
    # Without it: never
    expires_at: str
    credit_limit: CreatedApiKeyCreditLimit
    # Credits used of the limit, less refunds
    credits_used: int
    # Start of the next day or month in UTC; null for the period total
    resets_at: Optional[str]
    # Models; without it: all
    allowed_models: List[str]
    # Addresses and ranges in CIDR notation; without it: all
    allowed_ips: List[str]


class RedeemedGiftCode(TypedDict):
    # Credits of the code
    credits: int
    # Balance after them
    balance: int


class Upload(TypedDict):
    uuid: str
    # `pending` until the file has arrived, then `ready`, or `failed` if it cannot be used
    status: Literal["pending", "ready", "failed"]
    # As announced; that of the stored image once ready
    content_type: Literal["image/png", "image/jpeg", "image/webp"]
    # As announced; those of the stored image once ready
    bytes: int
    # In pixels; null until ready
    width: Optional[int]
    # In pixels; null until ready
    height: Optional[int]
    # Why the file cannot be used
    error: Optional[str]
    # ISO 8601, UTC
    created_at: str
    # When it is deleted unless it is used until then, or a generation uses it
    expires_at: str


class CreatedUpload(TypedDict):
    uuid: str
    # Receives the file, with the method PUT and no other credential
    upload_url: str
    # Headers that the PUT request must carry
    headers: Dict[str, str]
    # Until then the file can be sent
    expires_at: str


class WebhookEndpoint(TypedDict):
    uuid: str
    url: str
    # Types of events that it receives; null for all
    events: Optional[List[Literal[
        "generation.succeeded",
        "generation.failed",
        "credits.low",
        "credits.granted",
        "topup.succeeded",
        "topup.failed",
        "subscription.updated",
        "key.created",
        "key.revoked",
        "affiliate.commission",
        "affiliate.payout",
    ]]]
    description: str
    enabled: bool
    # `owner`: by the owner, or by support with all access to the account. `gone`: it answered 410.
    # `failing`: all attempts of five days failed
    disabled_reason: Optional[Literal["owner", "gone", "failing"]]
    # The first failed attempt since the last successful one
    failing_since: Optional[str]
    # Verifies signatures of the version `v1a`
    public_key: str
    # ISO 8601, UTC
    created_at: str


class WebhookEndpointWithSecret(TypedDict):
    uuid: str
    url: str
    # Types of events that it receives; null for all
    events: Optional[List[Literal[
        "generation.succeeded",
        "generation.failed",
        "credits.low",
        "credits.granted",
        "topup.succeeded",
        "topup.failed",
        "subscription.updated",
        "key.created",
        "key.revoked",
        "affiliate.commission",
        "affiliate.payout",
    ]]]
    description: str
    enabled: bool
    # `owner`: by the owner, or by support with all access to the account. `gone`: it answered 410.
    # `failing`: all attempts of five days failed
    disabled_reason: Optional[Literal["owner", "gone", "failing"]]
    # The first failed attempt since the last successful one
    failing_since: Optional[str]
    # Verifies signatures of the version `v1a`
    public_key: str
    # ISO 8601, UTC
    created_at: str
    # Verifies signatures of the version `v1`
    secret: str


class WebhookDelivery(TypedDict):
    uuid: str
    # `webhook-id` is `msg_` and this
    event_uuid: str
    # Type of the event
    type: str
    # Address of the next attempt, or of the last one
    url: str
    status: Literal["pending", "succeeded", "failed"]
    # Attempts since the event, or since the delivery was started again
    attempts: int
    # null unless `status` is `pending`
    next_attempt_at: Optional[str]
    # ISO 8601, UTC
    last_attempt_at: Optional[str]
    # HTTP status of the last response; null if there was none
    last_status: Optional[int]
    # Reason why the last attempt failed
    last_error: Optional[str]
    # Duration of the last attempt; null if there was none
    last_duration_ms: Optional[int]
    # null unless `status` is `succeeded`
    delivered_at: Optional[str]
    # ISO 8601, UTC
    created_at: str


class Pagination(TypedDict):
    # The address of the next page
    next: Optional[str]
    # The address of the previous page
    previous: Optional[str]
    # From 1
    current_page: int
    total_pages: int
    total_items: int


class _CreateGenerationRequired(TypedDict):
    model: str
    prompt: str
    # Options of the model: see `GET /api/models/`
    params: Dict[str, Any]


class CreateGeneration(_CreateGenerationRequired, total=False):
    # Receives the webhook of its end, beside the endpoints of the account
    webhook_url: str
    # Pairs of strings that are returned with the generation, and by which lists can be filtered
    metadata: Dict[str, str]
    # Largest accepted price. A higher price is a 400, and nothing is charged
    max_credits: int


class GenerationFilters(TypedDict, total=False):
    # Only generations with this status.
    status: Literal["queued", "succeeded", "failed"]
    # Only videos, or only images.
    kind: Literal["video", "image"]
    # Only generations of this model, by its slug.
    model: str
    # Only generations with these pairs of metadata, such as `metadata[project]=lighthouse`; up to
    # 3, which must all match.
    metadata: Dict[str, str]
    # Only items created at this time or later. A date, which is its start in UTC, or an ISO 8601
    # time with its zone.
    created_after: str
    # Only items created before this time. A date, which is its start in UTC, or an ISO 8601 time
    # with its zone.
    created_before: str


class CreateUpload(TypedDict):
    # `image/jpg` means `image/jpeg`
    content_type: Literal["image/png", "image/jpeg", "image/webp", "image/jpg"]
    # Size of the file
    bytes: int


class CreateApiKeyCreditLimit(TypedDict):
    # Most credits to spend
    credits: int
    # A UTC day, a UTC month, or all time
    period: Literal["day", "month", "total"]


class _CreateApiKeyRequired(TypedDict):
    name: str


class CreateApiKey(_CreateApiKeyRequired, total=False):
    # test for a key that costs nothing: see Test mode. Default: live
    mode: Literal["live", "test"]
    # What the key may do; null for the whole account, or with another option for `svc:read` and
    # `svc:write`
    scopes: Optional[List[Literal["svc:read", "svc:write", "account"]]]
    # Future time from which the key is rejected, or a date, which is its start in UTC; null for
    # never
    expires_at: Optional[str]
    # Most credits that the key may spend in a UTC day, a UTC month or in total; null for no limit
    credit_limit: Optional[CreateApiKeyCreditLimit]
    # Models that the key may use; null for all
    allowed_models: Optional[List[str]]
    # Addresses, or ranges in CIDR notation, from which the key may be used; null for all
    allowed_ips: Optional[List[str]]


class UpdateApiKeyCreditLimit(TypedDict):
    # Most credits to spend
    credits: int
    # A UTC day, a UTC month, or all time
    period: Literal["day", "month", "total"]


class UpdateApiKey(TypedDict, total=False):
    name: str
    # What the key may do; null for the whole account, or with another option for `svc:read` and
    # `svc:write`
    scopes: Optional[List[Literal["svc:read", "svc:write", "account"]]]
    # Future time from which the key is rejected, or a date, which is its start in UTC; null for
    # never
    expires_at: Optional[str]
    # Most credits that the key may spend in a UTC day, a UTC month or in total; null for no limit
    credit_limit: Optional[UpdateApiKeyCreditLimit]
    # Models that the key may use; null for all
    allowed_models: Optional[List[str]]
    # Addresses, or ranges in CIDR notation, from which the key may be used; null for all
    allowed_ips: Optional[List[str]]


class LedgerFilters(TypedDict, total=False):
    # Only entries of this type.
    entry_type: Literal["grant", "burn", "refund", "rollover", "expiry", "topup"]
    # Only items created at this time or later. A date, which is its start in UTC, or an ISO 8601
    # time with its zone.
    created_after: str
    # Only items created before this time. A date, which is its start in UTC, or an ISO 8601 time
    # with its zone.
    created_before: str


class _CreateWebhookRequired(TypedDict):
    # An https address, without a user name, password or fragment
    url: str


class CreateWebhook(_CreateWebhookRequired, total=False):
    # Types of events that it receives; null for all, including those that are added later
    events: Optional[List[Literal[
        "generation.succeeded",
        "generation.failed",
        "credits.low",
        "credits.granted",
        "topup.succeeded",
        "topup.failed",
        "subscription.updated",
        "key.created",
        "key.revoked",
        "affiliate.commission",
        "affiliate.payout",
    ]]]
    description: str


class UpdateWebhook(TypedDict, total=False):
    # An https address, without a user name, password or fragment
    url: str
    # Types of events that it receives; null for all, including those that are added later
    events: Optional[List[Literal[
        "generation.succeeded",
        "generation.failed",
        "credits.low",
        "credits.granted",
        "topup.succeeded",
        "topup.failed",
        "subscription.updated",
        "key.created",
        "key.revoked",
        "affiliate.commission",
        "affiliate.payout",
    ]]]
    description: str
    enabled: bool


class DeliveryFilters(TypedDict, total=False):
    # Only deliveries with this status.
    status: Literal["pending", "succeeded", "failed"]
    # Only deliveries of events of this type.
    type: Literal[
        "generation.succeeded",
        "generation.failed",
        "credits.low",
        "credits.granted",
        "topup.succeeded",
        "topup.failed",
        "subscription.updated",
        "key.created",
        "key.revoked",
        "affiliate.commission",
        "affiliate.payout",
        "webhook.test",
    ]


class GenerationSucceededEvent(TypedDict):
    type: Literal["generation.succeeded"]
    # Time of the event
    timestamp: str
    data: Generation


class GenerationFailedEvent(TypedDict):
    type: Literal["generation.failed"]
    # Time of the event
    timestamp: str
    data: Generation


class LowCredits(TypedDict):
    # The generation whose charge left the balance low
    generation: str
    # Credits that are left
    balance: int
    # The balance counts as low below this
    threshold: int


class CreditsLowEvent(TypedDict):
    type: Literal["credits.low"]
    # Time of the event
    timestamp: str
    data: LowCredits


class CreditsGrantedEvent(TypedDict):
    type: Literal["credits.granted"]
    # Time of the event
    timestamp: str
    data: LedgerEntry


class Topup(TypedDict):
    uuid: str
    kind: Literal["manual", "automatic"]
    status: Literal["succeeded", "failed"]
    # The ordered amount, without tax
    amount_cents: int
    # Credits that were added, or would have been
    credits: int
    # Reason of the failure; null if it succeeded
    failure_code: Optional[str]
    # ISO 8601, UTC
    completed_at: str


class TopupSucceededEvent(TypedDict):
    type: Literal["topup.succeeded"]
    # Time of the event
    timestamp: str
    data: Topup


class TopupFailedEvent(TypedDict):
    type: Literal["topup.failed"]
    # Time of the event
    timestamp: str
    data: Topup


class BillingStatusPlan(TypedDict):
    slug: Literal["lite", "starter", "pro", "studio"]
    name: str
    parallel_limit: int


class BillingStatus(TypedDict):
    # null without an active subscription
    plan: Optional[BillingStatusPlan]
    # none if there never was a subscription
    status: Literal["active", "past_due", "canceled", "unpaid", "incomplete", "none"]
    interval: Literal["yearly"]
    # ISO 8601, UTC
    current_period_end: Optional[str]
    cancel_at_period_end: bool
    # The payment processor
    processor: str
    # Whether automatic top-ups can be switched on
    has_payment_method: bool


class SubscriptionUpdatedEvent(TypedDict):
    type: Literal["subscription.updated"]
    # Time of the event
    timestamp: str
    data: BillingStatus


class KeyCreatedEvent(TypedDict):
    type: Literal["key.created"]
    # Time of the event
    timestamp: str
    data: ApiKey


class KeyRevokedEvent(TypedDict):
    type: Literal["key.revoked"]
    # Time of the event
    timestamp: str
    data: ApiKey


class Commission(TypedDict):
    amount_cents: int
    # Time at which the referred customer paid
    paid_at: str
    # The commission is part of the next payout after it
    payable_at: str


class AffiliateCommissionEvent(TypedDict):
    type: Literal["affiliate.commission"]
    # Time of the event
    timestamp: str
    data: Commission


class Payout(TypedDict):
    uuid: str
    month: str
    amount_cents: int
    # Time at which it was transferred
    paid_at: str


class AffiliatePayoutEvent(TypedDict):
    type: Literal["affiliate.payout"]
    # Time of the event
    timestamp: str
    data: Payout


class WebhookTestEvent(TypedDict):
    type: Literal["webhook.test"]
    # Time of the event
    timestamp: str
    data: WebhookEndpoint


WebhookEvent = Union[
    GenerationSucceededEvent,
    GenerationFailedEvent,
    CreditsLowEvent,
    CreditsGrantedEvent,
    TopupSucceededEvent,
    TopupFailedEvent,
    SubscriptionUpdatedEvent,
    KeyCreatedEvent,
    KeyRevokedEvent,
    AffiliateCommissionEvent,
    AffiliatePayoutEvent,
    WebhookTestEvent,
]

ErrorCode = Literal[
    "validation_error",
    "content_rejected",
    "invalid_api_key",
    "account_suspended",
    "insufficient_scope",
    "rate_limited",
    "insufficient_credits",
    "subscription_required",
    "spending_limit_reached",
    "parallel_limit_reached",
    "model_unavailable",
    "internal_error",
    "not_found",
    "admin_required",
    "network_error",
    "timeout",
    "unexpected_response",
]
