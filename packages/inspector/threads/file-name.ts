/** A file name for a thread: its title in safe characters, or its id. */
export function fileName({ id, title = '' }: { readonly id: string; readonly title?: string }): string {
  const words = title
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
  const short = [...words].slice(0, 48).join('').replace(/^-|-$/g, '')
  return short || id
}
