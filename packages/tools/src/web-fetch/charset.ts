/**
 * Decodes bytes by byte order mark, otherwise by header, then by declaration in the page, then as
 * UTF-8.
 */
export function decodeText(bytes: Buffer, { charset, markup }: { charset: string; markup: boolean }): string {
  const label = markOf(bytes) ?? (charset || (markup && declaredIn(bytes)) || 'utf-8')
  return decoderFor(label).decode(bytes)
}

/** Encoding Standard §6: a byte order mark overrides any declaration. */
function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : undefined
}

/**
 * `<meta charset>`, `<meta http-equiv content="…; charset=…">` or `<?xml encoding?>` at the start
 * of the page.
 */
function declaredIn(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, 1024)
  const [, label = ''] =
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head) ??
    /^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]+)/i.exec(head) ??
    []
  // A declaration readable as ASCII cannot be UTF-16: HTML §13.2.3.2.
  return label.toLowerCase().startsWith('utf-16') ? '' : label
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder()
  }
}
