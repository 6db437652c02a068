export function base64(bytes: Uint8Array): string {
  let binary = ''
  // In slices: an argument list has a limit, and one character at a time is slow.
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** As it may stand in a header. */
export function base64url(text: string): string {
  const plain = base64(new TextEncoder().encode(text))
  return plain.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
