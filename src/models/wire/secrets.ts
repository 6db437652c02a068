/** Takes the keys out of a text that will be seen: those that are known, and whatever looks like one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '[key]')
  return clean
    .replace(/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, '$1 [key]')
    .replace(/\b(?:sk|pk|gsk|xai|rk|key)-[\w-]{12,}/g, '[key]')
    .replace(/\bAIza[\w-]{20,}/g, '[key]')
}

/** The values of headers that must not be seen. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => /auth|key|token|secret|cookie|password/i.test(name))
    .flatMap(([, value]) => [value, value.replace(/^\w+\s+/, '')])
}
