# The formula for https://brew.sh. Homebrew installs formulae from taps only: docs/install.md.
class Setguard < Formula
  desc "Check DaemonSets and StatefulSets before they do damage"
  homepage "https://setguard.io"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/setguard/setguard/releases/download/vVERSION/setguard-VERSION-darwin-arm64.tar.gz"
      sha256 "CHECKSUM(darwin-arm64.tar.gz)"
    end
    on_intel do
      url "https://github.com/setguard/setguard/releases/download/vVERSION/setguard-VERSION-darwin-amd64.tar.gz"
      sha256 "CHECKSUM(darwin-amd64.tar.gz)"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/setguard/setguard/releases/download/vVERSION/setguard-VERSION-linux-arm64.tar.gz"
      sha256 "CHECKSUM(linux-arm64.tar.gz)"
    end
    on_intel do
      url "https://github.com/setguard/setguard/releases/download/vVERSION/setguard-VERSION-linux-amd64.tar.gz"
      sha256 "CHECKSUM(linux-amd64.tar.gz)"
    end
  end

  def install
    bin.install "setguard"
    generate_completions_from_executable(bin/"setguard", "completions")
    system bin/"setguard", "man", buildpath
    man1.install Dir["*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/setguard --version")
    assert_match "partition-covers-all", shell_output("#{bin}/setguard rules")
  end
end
