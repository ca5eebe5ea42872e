{{- define "genmeter.selector" -}}
app.kubernetes.io/name: genmeter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "genmeter.labels" -}}
{{ include "genmeter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "genmeter.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "genmeter.pod" -}}
# No pod calls the API of Kubernetes.
automountServiceAccountToken: false
securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  # Temporary files: outputs are in a bucket.
  - { name: media, emptyDir: { sizeLimit: 4Gi } }
  - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "genmeter.container" -}}
image: {{ include "genmeter.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
envFrom:
  - secretRef: { name: {{ .Values.secretName }} }
volumeMounts:
  - { name: media, mountPath: /media }
  - { name: tmp, mountPath: /tmp }
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
# Last, so that templates can append variables.
env:
  {{- range $name, $value := .Values.env }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
  - { name: METRICS_PORT, value: {{ .Values.metrics.port | quote }} }
  - { name: MEDIA_S3_BUCKET, value: {{ required "Set media.bucket: pods have no permanent disk." .Values.media.bucket | quote }} }
  {{- if .Values.testUpstream.enabled }}
  - { name: TEST_UPSTREAM_URL, value: "http://{{ .Release.Name }}-testupstream" }
  {{- end }}
  - { name: CDN_URL, value: {{ required "Set media.cdnUrl, the public address of the bucket." .Values.media.cdnUrl | quote }} }
{{- end }}
