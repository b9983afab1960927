/** Offers content as a file, without a request. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken the content by the next task.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
