export function base64(bytes: Uint8Array): string {
  let binary = ''
  // In slices: the number of arguments is limited, and one character at a time is slow.
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** Base64 that is valid in a header. */
export function base64url(text: string): string {
  const plain = base64(new TextEncoder().encode(text))
  return plain.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
